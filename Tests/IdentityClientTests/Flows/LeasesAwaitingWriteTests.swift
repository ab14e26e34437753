// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityTestSupport
import SystemSupport
import Testing

@testable import IdentityClient

/// The lease of a refresh whose tokens could not be written.
@Suite(.timeLimit(.minutes(1))) struct LeasesAwaitingWriteTests {
    private let storage = InMemoryTokenCache()
    private let cache: UnreliableCache
    private let environment: FlowEnvironment
    private let refresher: TokenRefresher
    private let request: SilentRequest

    init() throws {
        cache = UnreliableCache(storage)
        let authority = try Authority.openIDConnect(issuer: "https://issuer.example")
        environment = FlowEnvironment(ClientConfiguration(clientID: "client", authority: authority, cache: cache))
        refresher = TokenRefresher(environment)
        request = SilentRequest(
            id: RecordID(partition: "oidc|x", accountID: "person"),
            authority: authority,
            scopes: [],
            claims: nil,
            isForced: false,
            need: CredentialRequest(scopes: [])
        )
    }

    private var store: CredentialStore { environment.store }
    private var id: RecordID { request.id }
    private var key: CacheKey { store.key(for: id).lease }

    private var stored: RefreshLease? {
        get async throws { try await storage.record(for: key).flatMap(RefreshLease.init) }
    }

    /// Takes a lease that does not outlast a request, so that it is renewed.
    private func take() async throws -> RefreshLeaseStore.Held {
        try #require(try await RefreshLeaseStore(cache: cache, key: key, duration: .seconds(10)).take(over: nil))
    }

    /// Ends a refresh that has the lease.
    private func end(_ held: RefreshLeaseStore.Held) async {
        var machine = RefreshMachine(RefreshRules(leaseDuration: 10_000), hasKeptLease: true)
        for event in [.begin, .leaseRenewed(true)] as [RefreshMachine.Event] { _ = machine.handle(event) }
        let actions = machine.handle(.recordRead(nil))
        let driver = RefreshDriver(
            request,
            in: environment,
            RefreshThrottling(),
            context: Fixture.context,
            lease: held,
            machine: machine
        )
        let rest = await driver.run(actions)
        if !rest.isEmpty { refresher.keepLease(id, by: Task { await driver.goOn(rest) }) }
    }

    /// Ends a refresh under whose lease nothing could be written: one write of an account was refused by then.
    private func endUnwritten(
        refusing kinds: Set<CacheKey.Kind> = [.account],
        meanwhile: () async throws -> Void = {}
    ) async throws -> RefreshLease {
        let held = try await take()
        try await meanwhile()
        cache.refusedWrites = kinds
        _ = try await store.commit(id, Fixture.signIn(), at: Fixture.now)
        await end(held)
        return held.lease
    }

    private func waitForRefusals(_ count: Int) async throws {
        try await wait { cache.refusalCount >= count }
    }

    @Test func releasesTheLeaseAtOnceIfEverythingIsWritten() async throws {
        await end(try await take())
        #expect(try await stored == nil)
        #expect(await refresher.takeLease(id) == nil)
    }

    /// Storage that heeds cancellation must not keep it: this process would wait for itself.
    @Test func releasesTheLeaseInACancelledTask() async throws {
        let held = try await take()
        let task = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            await end(held)
        }
        await task.value
        #expect(try await stored == nil)
    }

    @Test func renewsTheLeaseUntilEverythingIsWritten() async throws {
        let first = try await endUnwritten()
        try await wait { try await stored?.nonce != first.nonce }
        #expect(try await stored?.holder == first.holder)
        cache.refusedWrites = []
        try await wait { try await stored == nil }
        #expect(try await storage.record(for: store.key(for: id)) != nil)
    }

    @Test func repeatsTheWriteIfTheLeaseCannotBeRenewed() async throws {
        let first = try await endUnwritten(refusing: [.account, .lease])
        try await waitForRefusals(3)
        #expect(try await stored == first)
        cache.refusedWrites = []
        try await wait { try await stored == nil }
        #expect(try await storage.record(for: store.key(for: id)) != nil)
    }

    @Test func handsTheLeaseToTheNextRefresh() async throws {
        _ = try await endUnwritten()
        let held = try #require(await refresher.takeLease(id))
        #expect(await refresher.takeLease(id) == nil)
        #expect(try await stored == held.lease)
        cache.refusedWrites = []
        try await store.saveUnsaved()
        await end(held)
        #expect(try await stored == nil)
    }

    @Test func leavesALeaseThatAnotherProcessTookOver() async throws {
        let theirs = RefreshLease(nonce: "theirs", duration: 1000, holder: ProcessTable.current(), deadline: .max)
        _ = try await endUnwritten {
            let isReplaced = try await storage.replace(storage.record(for: key), with: theirs.encoded(), for: key)
            #expect(isReplaced)
        }
        try await waitForRefusals(2)
        #expect(await refresher.takeLease(id) == nil)
        #expect(try await stored == theirs)
    }

    /// It can't be written any more, and the program that wrote that record can go on with it.
    @Test func releasesTheLeaseIfANewerVersionWroteTheRecord() async throws {
        _ = try await endUnwritten()
        let newer = CacheRecord(bytes: Array(#"{"v":2,"incarnation":"x"}"#.utf8))
        #expect(try await storage.replace(nil, with: newer, for: store.key(for: id)))
        try await wait { try await stored == nil }
        #expect(await refresher.takeLease(id) == nil)
    }
}
