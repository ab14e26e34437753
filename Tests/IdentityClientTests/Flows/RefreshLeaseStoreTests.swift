// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

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
