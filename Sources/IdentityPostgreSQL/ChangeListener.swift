// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient
import Synchronization
import SystemSupport

/// Hears of changes over a connection of its own, on a thread of its own, as long as they are of use.
final class ChangeListener: Sendable {
    private struct State {
        var groups: Set<CacheGroup> = []
        var streams: [Int: (group: CacheGroup, continuation: AsyncStream<CacheKey>.Continuation)] = [:]
        var lastStream = 0
        /// The descriptor that wakes the thread, while it runs.
        var wake: SharedDescriptor?
        var hasEnded = false
    }

    /// The time between two questions whether the connection lives, while records of memory are used, and otherwise.
    private static let (usedPace, idlePace) = (Duration.seconds(2), Duration.seconds(15))
    /// The time for which an answer counts.
    private static let trust = Duration.seconds(6)
    private static let answerLimit = Duration.seconds(3)
    private let pool: ConnectionPool
    private let memory: RecordMemory
    private let table: PostgreSQLTokenCache.Table
    private let state = Mutex(State())

    init(_ pool: ConnectionPool, _ memory: RecordMemory, _ table: PostgreSQLTokenCache.Table) {
        self.pool = pool
        self.memory = memory
        self.table = table
    }

    /// Returns the keys in `group` that change. After each gap it has the keys that matter most, because anything may
    /// have changed.
    func stream(of group: CacheGroup) -> AsyncStream<CacheKey>? {
        let (stream, continuation) = AsyncStream.makeStream(of: CacheKey.self, bufferingPolicy: .bufferingNewest(64))
        let number = state.withLock { state -> Int? in
            guard !state.hasEnded else { return nil }
            state.lastStream += 1
            state.streams[state.lastStream] = (group, continuation)
            return state.lastStream
        }
        guard let number else { return nil }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.streams.removeValue(forKey: number) }
        }
        listen(to: group)
        return stream
    }

    /// Begins to hear of changes in a group, and tells the thread that records of memory are used.
    func listen(to group: CacheGroup) {
        let (known, starts) = state.withLock { state -> (SharedDescriptor?, Bool) in
            guard !state.hasEnded else { return (nil, false) }
            state.groups.insert(group)
            return (state.wake, state.wake == nil)
        }
        if let known { return ring(known) }
        // Without a thread or descriptors, no change is heard: every record is read from the database.
        guard starts, let (reading, writing) = try? SharedDescriptor.pair() else { return }
        let isFirst = state.withLock { state in
            guard state.wake == nil, !state.hasEnded else { return false }
            state.wake = writing
            return true
        }
        guard isFirst else { return }
        do {
            try DetachedThread.start { [self] in run(wokenBy: reading) }
        } catch {
            state.withLock { $0.wake = nil }
        }
    }

    /// Ends the thread and all streams.
    func end() {
        let (wake, streams) = state.withLock { state in
            state.hasEnded = true
            defer { state.streams = [:] }
            return (state.wake, Array(state.streams.values))
        }
        for stream in streams { stream.continuation.finish() }
        if let wake { ring(wake) }
    }

    private func ring(_ wake: SharedDescriptor) {
        _ = wake.send([1])  // a full buffer wakes as well
    }
}

// The thread.
extension ChangeListener {
    private func run(wokenBy wake: SharedDescriptor) {
        var pause = Duration.milliseconds(100)
        while true {
            let begin = ContinuousClock.now
            do {
                let connection = try pool.connect(until: .now + Self.answerLimit)
                guard try listen(on: connection, wokenBy: wake) else { return memory.endSession() }
            } catch {}  // a call of the program says what is wrong
            memory.endSession()
            // A connection that lasted was good: its successor is tried at once.
            if ContinuousClock.now - begin > .seconds(5) { pause = .milliseconds(100) }
            let end = ContinuousClock.now + pause
            while ContinuousClock.now < end {
                if isOver { return }
                _ = Poll.wait(for: [Poll.Awaited(wake.raw)], until: end)
                var buffer = [UInt8](repeating: 0, count: 64)
                while case .bytes = wake.receive(into: &buffer) {}
                if !pool.isDown { break }
            }
            pause = min(pause * 2, .seconds(2))
        }
    }

    /// Whether the cache is gone.
    private var isOver: Bool { state.withLock(\.hasEnded) }

    /// Hears until the connection is lost, which it throws.
    ///
    /// - Returns: `false` if nothing needs to be heard any more; then the thread's next start is a new one.
    private func listen(on connection: DatabaseConnection, wokenBy wake: SharedDescriptor) throws -> Bool {
        var channels: [String: CacheGroup] = [:]
        var heard: Set<CacheGroup> = []
        var (lastAnswer, lastUse) = (ContinuousClock.Instant?.none, ContinuousClock.now)
        while true {
            let now = ContinuousClock.now
            if memory.takeUse() { lastUse = now }
            guard let wanted = wantedGroups(unusedFor: lastUse.duration(to: now)) else { return false }
            let new = wanted.subtracting(heard)
            for group in new {
                channels[table.channel(of: group)] = group
                try connection.execute("LISTEN \"\(table.channel(of: group))\"", until: .now + Self.answerLimit)
            }
            let pace = lastUse.duration(to: now) < Self.usedPace * 2 ? Self.usedPace : Self.idlePace
            if let last = lastAnswer, new.isEmpty, last + pace <= now {
                _ = try connection.query("SELECT 1", until: .now + Self.answerLimit)
                lastAnswer = now
            } else if !new.isEmpty {
                lastAnswer = now
            }
            // What was told before the answer comes before it.
            deliver(connection.notifications(), channels)
            if !new.isEmpty {
                heard = wanted
                memory.hear(heard)
                for group in new { announceAll(in: group) }
            }
            if let lastAnswer { memory.trust(until: lastAnswer + Self.trust) }
            let awaited = [Poll.Awaited(connection.socket), Poll.Awaited(wake.raw)]
            let ready = Poll.wait(for: awaited, until: (lastAnswer ?? now) + pace)
            if ready[1] != 0 {
                var buffer = [UInt8](repeating: 0, count: 64)
                while case .bytes = wake.receive(into: &buffer) {}
            }
            if ready[0] != 0 {
                try connection.consume()
                deliver(connection.notifications(), channels)
            }
        }
    }

    /// Returns the groups to hear; `nil` if none is needed, and the thread ends.
    private func wantedGroups(unusedFor unused: Duration) -> Set<CacheGroup>? {
        state.withLock { state in
            guard !state.hasEnded, !state.streams.isEmpty || unused < .seconds(60) else {
                (state.wake, state.groups) = (nil, [])
                return nil
            }
            return state.groups
        }
    }

    private func deliver(_ notifications: [(channel: String, text: String)], _ channels: [String: CacheGroup]) {
        for notification in notifications {
            guard let group = channels[notification.channel], let told = Told(notification.text, in: group) else {
                continue
            }
            memory.receive(told.key, write: told.write)
            announce(told.key)
        }
    }

    /// Tells the streams of the group that a record changed.
    func announce(_ key: CacheKey) {
        let streams = state.withLock { state in
            state.streams.values.filter { $0.group == key.group }.map(\.continuation)
        }
        for stream in streams { stream.yield(key) }
    }

    /// Says that anything may have changed: the leases that were seen, with their credentials, and each kind once.
    private func announceAll(in group: CacheGroup) {
        let names = memory.leaseNames(in: group) + [String(repeating: "0", count: 64)]
        for name in names {
            for kind in [CacheKey.Kind.lease, .application, .provider, .account] {
                announce(CacheKey(group: group, kind: kind, name: name))
            }
        }
    }
}

/// The text of a notification: the changed record, and the write that stored it.
struct Told {
    let key: CacheKey
    /// Empty for a removal.
    let write: [UInt8]

    /// The text that a change sends; `nil` as `write` means a removal.
    static func text(_ key: CacheKey, write: [UInt8]?) -> String {
        let digits = Array("0123456789abcdef".utf8)
        let hexadecimal = (write ?? []).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return "\(key.kind.rawValue) \(key.name) \(String(decoding: hexadecimal, as: UTF8.self))"
    }

    /// Any role that may connect can send a notification: one of another form is not read.
    init?(_ text: String, in group: CacheGroup) {
        let parts = text.utf8.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard parts.count == 3, let kind = String(parts[0]), let name = String(parts[1]) else { return nil }
        key = CacheKey(group: group, kind: CacheKey.Kind(rawValue: kind), name: name)
        guard PostgreSQLTokenCache.isStorable(key), parts[2].count.isMultiple(of: 2), parts[2].count <= 32 else {
            return nil
        }
        var bytes: [UInt8] = []
        var rest = parts[2]
        while let high = rest.popFirst()?.hexadecimalDigit, let low = rest.popFirst()?.hexadecimalDigit {
            bytes.append(high << 4 | low)
        }
        guard bytes.count * 2 == parts[2].count else { return nil }
        write = bytes
    }
}

extension UInt8 {
    fileprivate var hexadecimalDigit: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
