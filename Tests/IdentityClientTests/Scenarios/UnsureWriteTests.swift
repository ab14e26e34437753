// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// Writes that are done but report a failure: a keyring answers too late, or a directory cannot be synced. Also sign-outs
/// during a write.
@Suite(.timeLimit(.minutes(1)))
struct UnsureWriteTests {
    private static let scopes: Set<Scope> = ["api.read"]

    /// Each program in turn finds its token expired and gets a new one.
    private func expectRefreshes(
        by programs: [PublicClientApplication],
        for account: Account,
        on setup: TestSetup
    ) async throws {
        for program in programs {
            setup.clock.advance(by: .seconds(3600))
            let next = try await program.acquireTokenSilently(scopes: Self.scopes, account: account)
            #expect(next.source == .identityProvider)
        }
    }

    private func expectEachSentOnce(_ count: Int, on setup: TestSetup) {
        let spent = setup.provider.requests.compactMap { $0["refresh_token"] }
        #expect(spent.count == count && Set(spent).count == count)
    }

    /// Another program refreshes before the first program knows that its sign-in was stored.
    @Test(arguments: [true, false])
    func sendsEachRefreshTokenOnce(_ isWritableAgain: Bool) async throws {
        let storage = InMemoryTokenCache()
        let cache = UnreliableCache(storage)
        (cache.refusedWrites, cache.doesWhatItRefuses) = ([.account], true)
        let setup = try TestSetup(cache: cache)
        let (application, first) = try await setup.signedIn()
        guard case .failed = first.persistence else {
            Issue.record("The cache has to say that it failed.")
            return
        }
        let other = try setup.application { $0.cache = storage }
        setup.clock.advance(by: .seconds(3600))
        let shared = try await other.acquireTokenSilently(scopes: Self.scopes, account: first.account)
        #expect(shared.source == .identityProvider)
        cache.doesWhatItRefuses = false
        if isWritableAgain { cache.refusedWrites = [] }
        let hit = try await application.acquireTokenSilently(scopes: Self.scopes, account: first.account)
        #expect(hit.accessToken == shared.accessToken)
        cache.refusedWrites = []
        try await expectRefreshes(by: [application, other, application], for: first.account, on: setup)
        expectEachSentOnce(4, on: setup)
    }

    /// The person also signs in to another program, before the first program repeats its apparently lost write.
    @Test func keepsANewerSignIn() async throws {
        let storage = InMemoryTokenCache()
        let cache = UnreliableCache(storage)
        (cache.refusedWrites, cache.doesWhatItRefuses) = ([.account], true)
        let setup = try TestSetup(cache: cache)
        let (application, first) = try await setup.signedIn()
        let other = try setup.application { $0.cache = storage }
        setup.clock.advance(by: .seconds(3600))
        _ = try await other.acquireTokenSilently(scopes: Self.scopes, account: first.account)
        _ = try await other.acquireTokenInteractively(scopes: Self.scopes)
        cache.refusedWrites = []
        try await expectRefreshes(by: [application, other, application], for: first.account, on: setup)
        expectEachSentOnce(4, on: setup)
    }

    /// The lease has expired while the storage could not be written; the record can be read.
    @Test func sendsTheStoredRefreshTokenNotTheOneInMemory() async throws {
        let storage = InMemoryTokenCache()
        let cache = UnreliableCache(storage)
        let setup = try TestSetup(cache: cache)
        let (application, first) = try await setup.signedIn()
        let other = try setup.application { $0.cache = storage }
        (cache.refusedWrites, cache.doesWhatItRefuses) = ([.account], true)
        setup.clock.advance(by: .seconds(3600))
        _ = try await application.acquireTokenSilently(scopes: Self.scopes, account: first.account)
        cache.doesWhatItRefuses = false
        for (key, lease) in try await storage.records(of: .lease, in: .application("test-client")) {
            #expect(try await storage.replace(lease, with: nil, for: key))
        }
        try await expectRefreshes(by: [other, application], for: first.account, on: setup)
        expectEachSentOnce(3, on: setup)
    }

    /// The lease of a call that failed binds neither this program nor the others for its whole time.
    @Test(arguments: [true, false]) func givesALeaseBackThatItTookUnknowingly(isUsed: Bool) async throws {
        let storage = InMemoryTokenCache()
        let cache = UnreliableCache(storage)
        let setup = try TestSetup(cache: cache)
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3600))
        (cache.refusedWrites, cache.doesWhatItRefuses) = ([.lease], true)
        await #expect(throws: AuthenticationError.self) {
            try await application.acquireTokenSilently(scopes: Self.scopes, account: first.account)
        }
        cache.refusedWrites = []
        #expect(try await storage.records(of: .lease, in: .application("test-client")).count == 1)
        let next = isUsed ? application : try setup.application { $0.cache = storage }
        var parameters = SilentParameters(scopes: Self.scopes, account: first.account)
        parameters.timeout = .seconds(20)
        #expect(try await next.acquireTokenSilently(parameters).source == .identityProvider)
        expectEachSentOnce(1, on: setup)
    }

    @Test func triesAReleaseAgainThatFailed() async throws {
        let storage = InMemoryTokenCache()
        let cache = UnreliableCache(storage)
        let setup = try TestSetup(cache: cache)
        let (application, first) = try await setup.signedIn()
        let gate = TestGate()
        setup.provider.failNext(.token, with: .held(by: gate))
        setup.clock.advance(by: .seconds(3600))
        setup.provider.forgetRequests()
        async let token = application.acquireTokenSilently(scopes: Self.scopes, account: first.account)
        try await setup.provider.waitForRequest(.token)
        cache.refusedWrites = [.lease]
        gate.open()
        #expect(try await token.source == .identityProvider)
        #expect(try await storage.records(of: .lease, in: .application("test-client")).count == 1)
        cache.refusedWrites = []
        var parameters = SilentParameters(scopes: Self.scopes, account: first.account, forcesRefresh: true)
        parameters.timeout = .seconds(20)
        let other = try setup.application { $0.cache = storage }
        #expect(try await other.acquireTokenSilently(parameters).source == .identityProvider)
        expectEachSentOnce(2, on: setup)
    }

    /// When the person signs out, nothing is stored yet. Then an earlier write completes.
    @Test func staysSignedOutWhenASaveEndsAfterwards() async throws {
        let cache = InterruptedCache()
        let setup = try TestSetup(cache: cache)
        cache.beforeNextWrite(of: .account) { throw AuthenticationError(.keyringLocked, "It is locked.") }
        let (application, first) = try await setup.signedIn()
        cache.beforeNextWrite(of: .account) { try await application.remove(first.account) }
        try await expectError(.noTokensFound) {
            try await application.acquireTokenSilently(scopes: Self.scopes, account: first.account)
        }
        #expect(try await application.allAccounts().isEmpty)
        #expect(try await cache.storage.records(of: .account, in: .application("test-client")).isEmpty)
    }
}
