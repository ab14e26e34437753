// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import HTTPTypes
import IdentityClient
import IdentityTesting
import Synchronization
import SystemSupport

/// A point at which the worker kills itself with SIGKILL, which no program can catch, or waits for the signal to go on.
package enum CrashPoint: Equatable, Sendable {
    case beforeLease, afterLease
    case beforeRequest, afterAnswer
    case beforeWrite, afterWrite
    /// A death the given number of microseconds after the write began.
    case duringWrite(UInt32)
    case beforeRelease
    /// No death. Leases are ignored instead, to prove that the checks notice it.
    case noLeases

    /// The points of a refresh in order, without those in the middle of a write.
    package static let names = [
        "before-lease", "after-lease", "before-request", "after-answer", "before-write", "after-write",
        "before-release",
    ]

    init?(_ name: String) {
        switch name {
        case "before-lease": self = .beforeLease
        case "after-lease": self = .afterLease
        case "before-request": self = .beforeRequest
        case "after-answer": self = .afterAnswer
        case "before-write": self = .beforeWrite
        case "after-write": self = .afterWrite
        case "before-release": self = .beforeRelease
        case "no-leases": self = .noLeases
        case _ where name.hasPrefix("during-write:"):
            self = .duringWrite(UInt32(name.dropFirst("during-write:".count)) ?? 0)
        default: return nil
        }
    }

    static func die() {
        kill(getpid(), SIGKILL)
    }
}

/// Sends requests through another transport, counts the token requests, and can stop before or after a request.
final class CrashingTransport: PreparableTransport, TimedTransport {
    private let count = Mutex(0)
    private let transport: CurlTransport
    private let stop: WorkerStop

    init(_ transport: CurlTransport, _ stop: WorkerStop) {
        self.transport = transport
        self.stop = stop
    }

    var posts: Int { count.withLock { $0 } }

    func prepare() { transport.prepare() }

    func send(_ request: HTTPRequest, body: [UInt8]?) async throws -> (HTTPResponse, [UInt8]) {
        try await send(request, body: body, within: .seconds(3600))
    }

    func send(
        _ request: HTTPRequest,
        body: [UInt8]?,
        within limit: Duration
    ) async throws -> (HTTPResponse, [UInt8]) {
        if request.method == .post {
            if stop.point == .beforeRequest { try await stop.reach() }
            count.withLock { $0 += 1 }
        }
        let answer = try await transport.send(request, body: body, within: limit)
        if request.method == .post, stop.point == .afterAnswer { try await stop.reach() }
        return answer
    }
}

/// Stores records in another cache, and can stop before or after a write. Can report a wait for another process's
/// lease.
final class CrashingCache: TokenCache, LeaseLocking {
    private let cache: any TokenCache
    private let stop: WorkerStop
    private let tellsThatItWaits: Bool
    private let looks = Mutex(0)

    init(_ cache: any TokenCache, _ stop: WorkerStop, tellsThatItWaits: Bool) {
        self.cache = cache
        self.stop = stop
        self.tellsThatItWaits = tellsThatItWaits
    }

    func record(for key: CacheKey) async throws -> CacheRecord? {
        if key.kind == .lease, stop.point == .noLeases { return nil }
        let record = try await cache.record(for: key)
        if tellsThatItWaits, key.kind == .lease, let record { tellWait(for: record) }
        return record
    }

    /// Reports the wait. A second read of another process's lease means that the lease is valid and that the pause is
    /// next.
    private func tellWait(for record: CacheRecord) {
        guard let lease = RefreshLease(decoding: record), lease.holder.pid != Int(getpid()) else { return }
        let isSecond = looks.withLock { looks in
            looks += 1
            return looks == 2
        }
        if isSecond { TokenCacheWorker.say(TokenCacheWorker.waiting) }
    }

    func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        try await cache.records(of: kind, in: group)
    }

    func changes(in group: CacheGroup) -> AsyncStream<CacheKey>? {
        cache.changes(in: group)
    }

    func checkWritable(in group: CacheGroup) async throws {
        try await cache.checkWritable(in: group)
    }

    func reserve(_ bytes: Int, for key: CacheKey) async throws -> (any TokenCacheReservation)? {
        try await cache.reserve(bytes, for: key)
    }

    func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool {
        switch (key.kind, stop.point) {
        case (.lease, .noLeases): return true
        case (.account, .beforeWrite): try await stop.reach()
        case (.lease, .beforeRelease) where new == nil: try await stop.reach()
        case (.account, .duringWrite(let delay)): Self.dieSoon(delay)
        default: break
        }
        let isReplaced = try await cache.replace(expected, with: new, for: key)
        if key.kind == .account, stop.point == .afterWrite { try await stop.reach() }
        return isReplaced
    }

    func lockLease(
        over expected: CacheRecord?,
        with lease: @escaping @Sendable (_ isLocked: Bool) -> CacheRecord,
        for key: CacheKey
    ) async throws -> StoredLease? {
        if stop.point == .noLeases { return StoredLease(lease(false), lock: nil) }
        if stop.point == .beforeLease { try await stop.reach() }
        let stored = try await cache.storeLease(over: expected, with: lease, for: key)
        if stored != nil, stop.point == .afterLease { try await stop.reach() }
        return stored
    }

    func isLeaseLocked(_ lease: CacheRecord, for key: CacheKey) async throws -> Bool? {
        try await cache.findLeaseLock(lease, for: key)
    }

    private static func dieSoon(_ microseconds: UInt32) {
        var thread = pthread_t()
        let argument = unsafe UnsafeMutableRawPointer(bitPattern: UInt(microseconds) + 1)
        unsafe pthread_create(
            &thread,
            nil,
            { argument in
                usleep(UInt32(truncatingIfNeeded: Int(bitPattern: argument) - 1))
                CrashPoint.die()
                return nil
            },
            argument
        )
    }
}

/// A point at which a worker stops: it dies, or it reports the point and waits for the signal to go on.
final class WorkerStop: Sendable {
    static let mark = "paused"

    let point: CrashPoint?
    private let isDeath: Bool
    private let isReached = Mutex(false)
    private let order = Promise<Void>()

    init(_ orders: WorkerOrders) {
        point = (orders.crash ?? orders.pause).flatMap(CrashPoint.init)
        isDeath = orders.crash != nil
    }

    /// Stops the first time only, because returning the lease writes it again.
    func reach() async throws {
        if isDeath { CrashPoint.die() }
        let isFirst = isReached.withLock { isReached in
            defer { isReached = true }
            return !isReached
        }
        guard isFirst else { return }
        TokenCacheWorker.say(Self.mark)
        try await order.value()  // without a time of its own, which would be over after a sleep; the test has one
    }

    func goOn() { order.fulfil() }
}
