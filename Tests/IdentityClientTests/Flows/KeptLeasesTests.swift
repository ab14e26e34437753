// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityTestSupport
import Testing

@testable import IdentityClient

@Suite(.timeLimit(.minutes(1))) struct KeptLeasesTests {
    private let storage = InMemoryTokenCache()
    private let cache: UnreliableCache
    private let store: CredentialStore
    private let leases: KeptLeases
    private let id = RecordID(partition: "oidc|x", accountID: "person")
    /// Nearly as long as a lease of 10 s, so that the lease is renewed each time.
    private static let request = Duration.seconds(9)

    init() throws {
        cache = UnreliableCache(storage)
        store = CredentialStore(cache: cache, group: try CacheGroup("group"), clientID: "client")
        leases = KeptLeases(store: store, request: Self.request)
    }

    private var key: CacheKey { store.key(for: id).lease }

    private var stored: RefreshLease? {
        get async throws { try await storage.record(for: key).flatMap(RefreshLease.init) }
    }

    /// Gives back a lease without having written the record: one write of the account was refused.
    private func giveBack(
        refusing kinds: Set<CacheKey.Kind> = [.account],
        meanwhile: () async throws -> Void = {}
    ) async throws -> RefreshLease {
        let holder = RefreshLeaseHolder(cache: cache, key: key, duration: .seconds(10))
        let held = try #require(try await holder.acquire { false })
        let lease = try #require(try await stored)
        try await meanwhile()
        cache.refusedWrites = kinds
        _ = try await store.commit(id, fallback: Fixture.credentials()) { _ in Fixture.credentials() }
        await leases.giveBack(held, of: id)
        return lease
    }

    private func waitForRefusals(_ count: Int) async throws {
        try await wait { cache.refusalCount >= count }
    }

    @Test func givesItBackAtOnceWhereEverythingIsWritten() async throws {
        let holder = RefreshLeaseHolder(cache: cache, key: key, duration: .seconds(10))
        await leases.giveBack(try #require(try await holder.acquire { false }), of: id)
        #expect(try await stored == nil)
        #expect(await leases.take(id) == nil)
    }

    @Test func renewsItUntilEverythingIsWritten() async throws {
        let first = try await giveBack()
        try await wait { try await stored?.nonce != first.nonce }
        #expect(try await stored?.holder == first.holder)
        cache.refusedWrites = []
        try await wait { try await stored == nil }
        #expect(try await storage.record(for: store.key(for: id)) != nil)
    }

    @Test func triesOnWhereItCannotBeRenewed() async throws {
        let first = try await giveBack(refusing: [.account, .lease])
        try await waitForRefusals(3)
        #expect(try await stored == first)
        cache.refusedWrites = []
        try await wait { try await stored == nil }
        #expect(try await storage.record(for: store.key(for: id)) != nil)
    }

    @Test func handsItOverToWhoRefreshesNext() async throws {
        _ = try await giveBack()
        let held = try #require(await leases.take(id))
        #expect(await leases.take(id) == nil)
        try await held.outlast(Self.request)
        #expect(try await stored != nil)
        cache.refusedWrites = []
        try await store.saveUnsaved()
        await leases.giveBack(held, of: id)
        #expect(try await stored == nil)
    }

    @Test func leavesOneThatSomebodyElseTookOver() async throws {
        let theirs = RefreshLease(nonce: "theirs", duration: 1000, holder: ProcessTable.current(), deadline: .max)
        _ = try await giveBack {
            let isReplaced = try await storage.replace(storage.record(for: key), with: theirs.encoded(), for: key)
            #expect(isReplaced)
        }
        try await waitForRefusals(2)
        #expect(await leases.take(id) == nil)
        #expect(try await stored == theirs)
    }

    /// The pending refresh can no longer be written, and the newer version can continue with its own record.
    @Test func givesItBackWhereANewerVersionWroteTheRecord() async throws {
        _ = try await giveBack()
        let newer = CacheRecord(bytes: Array(#"{"v":2,"incarnation":"x"}"#.utf8))
        #expect(try await storage.replace(nil, with: newer, for: store.key(for: id)))
        try await wait { try await stored == nil }
        #expect(await leases.take(id) == nil)
    }
}
