// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityTestSupport
import IdentityTesting
import Synchronization
import SystemSupport
import Testing

@testable import IdentityClient

@Suite(.timeLimit(.minutes(1))) struct RefreshLeaseStoreTests {
    private let cache = InMemoryTokenCache()
    private let key: CacheKey

    init() throws {
        key = CacheKey(group: try CacheGroup("group"), kind: .lease, name: "name")
    }

    private func leases(_ duration: Duration = .seconds(60)) -> RefreshLeaseStore {
        RefreshLeaseStore(cache: cache, key: key, duration: duration)
    }

    private var stored: RefreshLease? {
        get async throws { try await cache.record(for: key).flatMap(RefreshLease.init) }
    }

    private func put(_ holder: ProcessIdentity, duration: Int64, deadline: Int64) async throws {
        let lease = RefreshLease(nonce: "theirs", duration: duration, holder: holder, deadline: deadline)
        #expect(try await cache.replace(nil, with: lease.encoded(), for: key))
    }

    private func isFree(seenFor duration: Duration = .zero) async throws -> Bool {
        let sight = try await leases().read(since: .now - duration).sight
        return sight.isFree(seenSince: 0)
    }

    @Test func takesAndReleasesAFreeLease() async throws {
        #expect(try await isFree())
        let held = try #require(try await leases().take(over: nil))
        let lease = try #require(try await stored)
        #expect(lease == held.lease && lease.holder == ProcessTable.current() && lease.duration == 60_000)
        #expect(lease.deadline > ProcessTable.bootTime() + 50_000)
        await leases().release(held)
        #expect(try await cache.record(for: key) == nil)
    }

    @Test func failsToTakeALeaseThatAnotherProcessTookFirst() async throws {
        try await put(ProcessTable.current(), duration: 120_000, deadline: .max)
        #expect(try await leases().take(over: nil) == nil)
        #expect(try await stored?.nonce == "theirs")
    }

    @Test func seesThatALivingHolderKeepsItsLease() async throws {
        try await put(ProcessTable.current(), duration: 120_000, deadline: .max)
        #expect(try await !isFree())
        #expect(try await isFree(seenFor: .seconds(121)))
    }

    @Test func seesThatALeaseOfADeadHolderIsFree() async throws {
        var dead = ProcessTable.current()
        dead.startTime = "1"
        try await put(dead, duration: 120_000, deadline: .max)
        #expect(try await isFree())
    }

    @Test func respectsALeaseOfAnotherMachineUntilItExpires() async throws {
        let other = ProcessIdentity(bootID: "other", pidNamespace: "pid:[1]", pid: 1, startTime: "1")
        try await put(other, duration: 60_000, deadline: 0)
        #expect(try await !isFree())
        #expect(try await isFree(seenFor: .seconds(61)))
    }

    @Test func aDamagedLeaseBindsNoProcess() async throws {
        let damaged = CacheRecord(bytes: [0])
        #expect(try await cache.replace(nil, with: damaged, for: key))
        let (record, sight) = try await leases().read(since: .now)
        #expect(sight.isFree(seenSince: 0))
        #expect(try await leases().take(over: record) != nil)
    }

    @Test func renewsALeaseThatWouldNotOutlastARequest() async throws {
        let leases = leases(.seconds(10))
        let held = try #require(try await leases.take(over: nil))
        let same = try #require(try await leases.renewed(held, toOutlast: .seconds(5)))
        #expect(same.lease == held.lease)
        let renewed = try #require(try await leases.renewed(held, toOutlast: .seconds(9)))
        #expect(renewed.lease.nonce != held.lease.nonce && renewed.lease.holder == held.lease.holder)
        #expect(try await stored == renewed.lease)
        await leases.release(renewed)
        #expect(try await cache.record(for: key) == nil)
    }

    @Test func noticesThatAnotherProcessTookOverTheLease() async throws {
        let leases = leases(.seconds(1))
        let held = try #require(try await leases.take(over: nil))
        let other = RefreshLease(nonce: "theirs", duration: 1000, holder: ProcessTable.current(), deadline: .max)
        #expect(try await cache.replace(cache.record(for: key), with: other.encoded(), for: key))
        #expect(try await leases.renewed(held, toOutlast: .seconds(30)) == nil)
        await leases.release(held)
        #expect(try await stored == other)
    }
}

/// Leases of which the process cannot know whether it has them: the cache failed when they were taken, renewed or released.
@Suite(.timeLimit(.minutes(1))) struct StrayLeaseTests {
    private let storage = InMemoryTokenCache()
    private let cache: UnreliableCache
    private let key: CacheKey
    private let leases: RefreshLeaseStore

    init() throws {
        cache = UnreliableCache(storage)
        key = CacheKey(group: try CacheGroup("group"), kind: .lease, name: "name")
        leases = RefreshLeaseStore(cache: cache, key: key, duration: .seconds(10))
    }

    private var stored: CacheRecord? { get async throws { try await storage.record(for: key) } }

    private func isFree(for leases: RefreshLeaseStore) async throws -> Bool {
        try await leases.read(since: .now).sight.isFree(seenSince: 0)
    }

    /// - Parameter isDone: Whether the cache does what it reports as a failure.
    private func failing<Value>(isDone: Bool, _ work: () async throws -> Value) async -> Value? {
        (cache.refusedWrites, cache.doesWhatItRefuses) = ([.lease], isDone)
        defer { cache.refusedWrites = [] }
        return try? await work()
    }

    @Test func takesALeaseOverWhoseTakeFailedAndIsDone() async throws {
        #expect(await failing(isDone: true) { try await leases.take(over: nil) } == nil)
        let ghost = try #require(try await stored)
        #expect(try await isFree(for: leases))
        let other = RefreshLeaseStore(cache: cache, key: key, duration: .seconds(10))
        #expect(try await !isFree(for: other))
        #expect(try await leases.take(over: ghost) != nil)
        #expect(try await !isFree(for: leases), "The new lease is held.")
    }

    /// The next refresh may never come in this process.
    @Test func removesALeaseWhoseTakeFailedAndIsDone() async throws {
        #expect(await failing(isDone: true) { try await leases.take(over: nil) } == nil)
        #expect(try await stored != nil)
        await leases.strays.finish()
        #expect(try await stored == nil)
    }

    @Test func removesALeaseThatTheCacheStoresAfterItsFailure() async throws {
        let late = LateCache(storage)
        let leases = RefreshLeaseStore(cache: late, key: key, duration: .seconds(10))
        await #expect(throws: (any Error).self) { try await leases.take(over: nil) }
        #expect(try await stored == nil)
        try await wait { late.hasStored }
        await leases.strays.finish()
        #expect(try await stored == nil)
    }

    @Test(arguments: [true, false]) func triesAReleaseAgain(isDone: Bool) async throws {
        let held = try #require(try await leases.take(over: nil))
        await failing(isDone: isDone) { await leases.release(held) }
        #expect(try await (stored == nil) == isDone)
        #expect(try await isFree(for: leases))
        await leases.strays.finish()
        #expect(try await stored == nil)
    }

    /// Until then the lease of before counts, and is not removed.
    @Test(arguments: [true, false]) func renewsALeaseWhoseRenewalFailed(isDone: Bool) async throws {
        let held = try #require(try await leases.take(over: nil))
        #expect(await failing(isDone: isDone) { try await leases.renewed(held, toOutlast: .seconds(10)) } == nil)
        await leases.strays.finish()
        #expect(try await stored != nil)
        let renewed = try #require(try await leases.renewed(held, toOutlast: .seconds(10)))
        #expect(try await stored == renewed.stored.record)
        await leases.release(renewed)
        #expect(try await stored == nil)
    }

    @Test func removesALeaseWhoseRenewalFailedWithTheRelease() async throws {
        let held = try #require(try await leases.take(over: nil))
        #expect(await failing(isDone: true) { try await leases.renewed(held, toOutlast: .seconds(10)) } == nil)
        await leases.release(held)
        #expect(try await stored != nil)
        await leases.strays.finish()
        #expect(try await stored == nil)
    }

    @Test func leavesTheLeaseOfAnotherProcess() async throws {
        let held = try #require(try await leases.take(over: nil))
        await failing(isDone: true) { await leases.release(held) }
        let other = RefreshLeaseStore(cache: cache, key: key, duration: .seconds(10))
        let theirs = try #require(try await other.take(over: nil))
        await leases.strays.finish()
        #expect(try await stored == theirs.stored.record)
    }

    @Test func endsWithTheApplication() async throws {
        let (begun, ended) = (TestGate(), TestGate())
        var strays: StrayLeases? = StrayLeases()
        weak let watched = strays
        let hanging = HangingCache(begun: begun, ended: ended)
        let leases = RefreshLeaseStore(cache: hanging, key: key, duration: .seconds(3600))
        strays?.remove("nonce", in: leases, mayComeLater: true)
        try await begun.wait()
        strays = nil
        #expect(watched == nil)
        try await ended.wait()
    }
}

/// A cache that stores a lease only after it has reported a failure, when it is next read.
private final class LateCache: TokenCache {
    private let storage: InMemoryTokenCache
    private let late = Mutex<(new: CacheRecord?, reads: Int, hasStored: Bool)>((nil, 0, false))

    init(_ storage: InMemoryTokenCache) { self.storage = storage }

    var hasStored: Bool { late.withLock { $0.hasStored } }

    func record(for key: CacheKey) async throws -> CacheRecord? {
        let found = try await storage.record(for: key)
        let new = late.withLock { late in
            late.reads += 1
            guard late.reads == 2, !late.hasStored else { return nil as CacheRecord? }
            late.hasStored = true
            return late.new
        }
        if let new { _ = try await storage.replace(nil, with: new, for: key) }
        return found
    }

    func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool {
        if let new {
            late.withLock { $0.new = new }
            throw UnreliableCache.Failure()
        }
        return try await storage.replace(expected, with: nil, for: key)
    }

    func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] { [:] }
}

/// A cache that answers no look until it is cancelled.
private struct HangingCache: TokenCache {
    let begun: TestGate
    let ended: TestGate

    func record(for key: CacheKey) async throws -> CacheRecord? {
        begun.open()
        defer { ended.open() }
        return try await Promise<CacheRecord?>().value()
    }

    func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool { false }

    func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] { [:] }
}
