// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import Synchronization
package import SystemSupport

/// The exclusive right to refresh one credential, and its holder. It does not depend on the wall clock.
package struct RefreshLease: Hashable, Sendable {
    /// A value that distinguishes this lease from the next.
    package var nonce: String
    /// The nonce with which the holder took the lease. It stays the same when the holder renews the lease.
    package var turn: String
    /// The longest time that the holder may keep the lease, in milliseconds.
    package var duration: Int64
    package var holder: ProcessIdentity
    /// The end of the lease, in milliseconds of the boot clock. It counts for the holder alone.
    package var deadline: Int64
    /// Whether the holder's process holds a lock for as long as it holds the lease (``LeaseLocking``).
    package var isLocked: Bool

    /// - Parameter turn: `nil` means that the lease was not held before.
    package init(
        nonce: String,
        turn: String? = nil,
        duration: Int64,
        holder: ProcessIdentity,
        deadline: Int64,
        isLocked: Bool = false
    ) {
        self.nonce = nonce
        self.turn = turn ?? nonce
        self.duration = duration
        self.holder = holder
        self.deadline = deadline
        self.isLocked = isLocked
    }

    /// The longest lease, in milliseconds. A longer lease is cut to this, so that a damaged or hostile lease does not
    /// bind forever.
    package static let maximumDuration: Int64 = 120_000
}

extension RefreshLease {
    /// Whether the lease outlasts one more request of so many milliseconds, by its holder's boot clock.
    package func outlasts(_ request: Int64, at bootTime: Int64) -> Bool {
        deadline - bootTime >= request + 2000
    }
}

/// The view that one process, the observer, has of a lease, with the readings of its clocks.
package struct LeaseSight: Hashable, Sendable {
    /// `nil` if there is no lease, or only a damaged one, which binds no process.
    package var lease: RefreshLease?
    package var observer: ProcessIdentity
    /// Milliseconds of the observer's monotonic clock since its first look, without sleep.
    package var elapsed: Int64
    /// Whether a process holds the lease's lock; `nil` for a lease without a lock, and if the observer cannot know.
    package var isLocked: Bool?
    /// Whether the holder's process was found dead. It counts only if the observer can see that process, and if there is
    /// no lock to ask.
    package var holderIsDead: Bool

    package init(
        _ lease: RefreshLease?,
        observer: ProcessIdentity,
        elapsed: Int64,
        isLocked: Bool? = nil,
        holderIsDead: Bool
    ) {
        self.lease = lease
        self.observer = observer
        self.elapsed = elapsed
        self.isLocked = isLocked
        self.holderIsDead = holderIsDead
    }

    /// Whether the observer may take the lease, first seen at `seenSince`. The boot clock does not count: it runs in sleep.
    package func isFree(seenSince: Int64) -> Bool {
        guard let lease else { return true }
        if elapsed - seenSince >= lease.duration || isLocked == false { return true }
        return isLocked == nil && holderIsDead && observer.sees(lease.holder)
    }
}

extension RefreshLease {
    package init?(decoding record: CacheRecord) {
        guard let json = try? JSONObject(parsing: record.bytes),  // a damaged lease binds no process
            let nonce = json.string("nonce"), let duration = json.roundedDown("duration"), duration > 0,
            let deadline = json.roundedDown("deadline"), let bootID = json.string("boot_id"),
            let namespace = json.string("pid_namespace"), let pid = json.integer("pid"),
            let start = json.string("start")
        else { return nil }
        let holder = ProcessIdentity(bootID: bootID, pidNamespace: namespace, pid: pid, startTime: start)
        self.init(
            nonce: nonce,
            turn: json.string("turn") ?? "\(bootID) \(namespace) \(pid) \(start)",
            duration: min(duration, Self.maximumDuration),
            holder: holder,
            deadline: deadline,
            isLocked: json.bool("locked") ?? false
        )
    }

    package func encoded() -> CacheRecord {
        var json = JSONObject()
        json["v"] = .integer(1)
        json["nonce"] = .string(nonce)
        json["turn"] = .string(turn)
        json["duration"] = .integer(duration)
        json["deadline"] = .integer(deadline)
        json["boot_id"] = .string(holder.bootID)
        json["pid_namespace"] = .string(holder.pidNamespace)
        json["pid"] = .integer(holder.pid)
        json["start"] = .string(holder.startTime)
        if isLocked { json["locked"] = .bool(true) }
        return CacheRecord(bytes: json.serialized())
    }
}

extension LeaseSight {
    /// Creates the view of this process, which has run for `elapsed` since its first look.
    init(_ record: CacheRecord?, for key: CacheKey, in cache: any TokenCache, elapsed: Duration)
        async throws
    {
        let (me, lease) = (ProcessTable.current(), record.flatMap(RefreshLease.init))
        let isLocked: Bool? =
            if let record, let lease, lease.isLocked {
                try await cache.findLeaseLock(record, for: key)
            } else { nil }
        self.init(
            lease,
            observer: me,
            elapsed: elapsed.milliseconds,
            isLocked: isLocked,
            holderIsDead: lease.map { me.sees($0.holder) && ProcessTable.isDead($0.holder) } ?? false
        )
    }
}

extension RefreshLease {
    /// Returns whether the lease in `record` binds this process, which has seen it for that long.
    package static func binds(
        _ record: CacheRecord,
        for key: CacheKey,
        in cache: any TokenCache,
        seenFor: Duration
    ) async throws -> Bool {
        try await !LeaseSight(record, for: key, in: cache, elapsed: seenFor).isFree(seenSince: 0)
    }

    func locked(_ isLocked: Bool) -> RefreshLease {
        var lease = self
        lease.isLocked = isLocked
        return lease
    }
}

/// The pauses of a process that waits while another process holds a lease. A pause ends when the cache reports a change,
/// or when it is time to look again.
///
/// A lease holder that dies reports no change, and a hint may be lost. So a process with hints also looks again, only
/// less often.
final class LeaseWait: Sendable {
    /// The reason why a pause ended.
    enum End: Sendable {
        /// The cache reported a change.
        case hint
        /// The time was up.
        case time
    }

    private let pauses = Mutex((count: 0, next: Promise<End>()))
    private let listener: Mutex<Task<Void, Never>?>
    private let begin = ContinuousClock.now

    /// Begins to listen: a change from now on ends a pause.
    ///
    /// - Parameter keys: The keys of the records to watch, all in one group.
    init(for keys: Set<CacheKey>, in cache: any TokenCache) {
        listener = Mutex(nil)
        guard let group = keys.first?.group, let hints = cache.changes(in: group) else { return }
        let task = Task { [weak self] in
            for await key in hints where keys.contains(key) { self?.ring() }
        }
        listener.withLock { $0 = task }
    }

    deinit {
        listener.withLock { $0?.cancel() }
    }

    /// Pauses. A change since the previous pause ends the pause at once.
    ///
    /// - Throws: `CancellationError`.
    func pause() async throws -> End {
        let (count, pause) = pauses.withLock { $0 }
        let hasHints = listener.withLock { $0 != nil }
        let timeout = Self.maximumPause(count, after: begin.duration(to: .now), hasHints: hasHints)
        let timer = Task {
            try await Task.sleep(for: timeout)
            pause.finish(.success(.time))
        }
        defer { timer.cancel() }
        let end = try await pause.value()
        // A change from here on ends the next pause. The caller sees earlier changes when it looks.
        pauses.withLock { $0 = (count + 1, Promise()) }
        return end
    }

    private func ring() {
        pauses.withLock { $0.next }.finish(.success(.hint))
    }

    /// Returns the length of a pause, counted from 0: 5, 10 and then 20 ms in the first two seconds, and 200 ms in the
    /// end; with hints, at least 40 ms.
    static func maximumPause(_ count: Int, after elapsed: Duration, hasHints: Bool) -> Duration {
        let growing = min(5 << min(count, 6), elapsed < .seconds(2) ? 20 : 200)
        return .milliseconds(hasHints ? max(40, growing) : growing)
    }
}

/// Work that one of all processes does at a time, while the others wait for its result. It is not for refreshes, whose lease
/// guards more.
package struct SharedTurn: Sendable {
    /// The record that the work makes. The lease is beside it.
    private let key: CacheKey
    private let cache: any TokenCache
    /// The longest time of the work, and of a wait.
    private let duration: Duration

    package init(key: CacheKey, cache: any TokenCache, duration: Duration) {
        self.key = key
        self.cache = cache
        self.duration = duration
    }

    /// Returns the result of another process, or of the work.
    ///
    /// - Parameters:
    ///   - outlivesCaller: Whether the work goes on to its end if the caller is cancelled.
    ///   - known: Returns the result of another process, which the work looks for again.
    /// - Returns: `nil` if another process takes too long.
    package func run<Value: Sendable>(
        outlivingCaller outlivesCaller: Bool,
        known: () async throws -> Value?,
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value? {
        let begin = SuspendingClock.now
        let leases = RefreshLeaseStore(cache: cache, key: key.lease, duration: duration)
        // The removals outlive this call.
        defer { Task { await leases.strays.finish() } }
        let wait = LeaseWait(for: [key, key.lease], in: cache)
        var seen: (lease: RefreshLease, since: Int64)?
        while SuspendingClock.now - begin < duration {
            let (record, sight) = try await leases.read(since: begin)
            if let lease = sight.lease, lease != seen?.lease { seen = (lease, sight.elapsed) }
            if sight.isFree(seenSince: seen?.since ?? sight.elapsed), let held = try await leases.take(over: record) {
                let leased = { @Sendable () async throws -> Value in
                    let result: Result<Value, any Error>
                    do { result = .success(try await work()) } catch { result = .failure(error) }
                    await leases.release(held)
                    return try result.get()
                }
                guard outlivesCaller else { return try await leased() }
                return try await SingleFlight<CacheKey, Value>().run(key, leased)
            }
            _ = try await wait.pause()
            if let found = try await known() { return found }
        }
        return nil
    }
}
