// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// The refresh token in the cache is spent, and its successor cannot be written: no program may send the old one.
@Suite(.timeLimit(.minutes(1)))
struct UnwrittenRefreshTests {
    /// Two programs on one storage, which can refuse the writes of the first.
    private let cache: UnreliableCache
    private let othersCache = CountingCache()
    private let setup: TestSetup
    private let application: PublicClientApplication
    private let other: PublicClientApplication

    init() throws {
        let cache = UnreliableCache(othersCache.storage)
        let setup = try TestSetup(cache: cache)
        (self.cache, self.setup) = (cache, setup)
        application = try setup.application()
        other = try setup.application { [othersCache] in $0.cache = othersCache }
    }

    @Test func otherProgramsDoNotSendTheSpentRefreshToken() async throws {
        let account = try await signIn()
        cache.refusedWrites = [.account]
        let refreshed = try await refresh(application, account)
        #expect(isFailed(refreshed.persistence))
        let waiting = try await waitingSilentCall(account)
        cache.refusedWrites = []
        let shared = try await waiting.value
        #expect(shared.source == .cache && shared.accessToken == refreshed.accessToken)
        #expect(try await refresh(other, account).source == .identityProvider)
        expectEachSentOnce(2)
    }

    /// Only the refresh token of the answer is used.
    @Test func otherProgramsDoNotSendTheSpentRefreshTokenOfARejectedAnswer() async throws {
        let account = try await signIn()
        cache.refusedWrites = [.account]
        setup.provider.tamperNextIDToken(with: .brokenSignature)
        try await expectError(.invalidIDToken) { try await refresh(application, account) }
        let waiting = try await waitingSilentCall(account)
        cache.refusedWrites = []
        #expect(try await waiting.value.source == .identityProvider)
        expectEachSentOnce(2)
    }

    @Test func otherProgramsDoNotSendTheSpentRefreshTokenIfALaterRefreshFails() async throws {
        let account = try await signIn()
        cache.refusedWrites = [.account]
        let refreshed = try await refresh(application, account)
        setup.provider.failNext(.token, with: .refusal("invalid_client", status: 401))
        try await expectError(.clientNotRegistered) { try await refresh(application, account) }
        let waiting = try await waitingSilentCall(account)
        cache.refusedWrites = []
        #expect(try await waiting.value.accessToken != refreshed.accessToken)
        #expect(spent.count == 3 && Set(spent).count == 2, "The one that was refused is not spent.")
    }

    @Test func refreshesAgainInTheSameProgram() async throws {
        let account = try await signIn()
        cache.refusedWrites = [.account]
        for _ in 0..<3 { #expect(isFailed(try await refresh(application, account).persistence)) }
        #expect(try await leases().count == 1)
        cache.refusedWrites = []
        try await application.finishPendingWork(within: .seconds(15))
        #expect(try await leases().isEmpty, "Who ends now leaves nothing that others wait for.")
        #expect(try await refresh(other, account).source == .identityProvider)
        expectEachSentOnce(4)
    }

    @Test(arguments: [true, false])
    func delaysNoOtherProgramAfterASignOut(_ isElsewhere: Bool) async throws {
        if !isElsewhere { cache.refusedWrites = [.account] }
        let account = try await signIn()
        cache.refusedWrites = [.account]
        _ = try await refresh(application, account)
        #expect(try await leases().count == 1)
        try await (isElsewhere ? other : application).remove(account)
        try await wait { try await leases().isEmpty }
        try await expectError(.noTokensFound) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: account)
        }
    }

    @Test func delaysNoOtherProgramAfterANewSignIn() async throws {
        let account = try await signIn()
        cache.refusedWrites = [.account]
        _ = try await refresh(application, account)
        _ = try await other.acquireTokenInteractively(scopes: ["api.read"])
        try await wait { try await leases().isEmpty }
        #expect(try await refresh(other, account).source == .identityProvider)
        expectEachSentOnce(2)
    }

    /// The application object takes the unwritten changes with it, and the task that tries to write them.
    @Test func triesToWriteNoLongerThanTheApplicationObjectLives() async throws {
        weak var cache: UnreliableCache?
        do {
            let own = UnreliableCache()
            cache = own
            let setup = try TestSetup(cache: own)
            let (application, first) = try await setup.signedIn()
            own.refusedWrites = [.account]
            setup.clock.advance(by: .seconds(3600))
            _ = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        try await wait { cache == nil }
    }
}

extension UnwrittenRefreshTests {
    private func signIn() async throws -> Account {
        try await application.acquireTokenInteractively(scopes: ["api.read"]).account
    }

    /// Refreshes an access token that has expired.
    private func refresh(
        _ application: PublicClientApplication,
        _ account: Account
    ) async throws -> AuthenticationResult {
        setup.clock.advance(by: .seconds(3600))
        return try await application.acquireTokenSilently(scopes: ["api.read"], account: account)
    }

    /// Starts a call of the second program, which has checked the lease repeatedly and still waits.
    private func waitingSilentCall(_ account: Account) async throws -> Task<AuthenticationResult, any Error> {
        let (before, hasEnded) = (othersCache.state.value.reads, Shared(false))
        let task = Task {
            defer { hasEnded.withLock { $0 = true } }
            return try await other.acquireTokenSilently(scopes: ["api.read"], account: account)
        }
        try await wait { othersCache.state.value.reads >= before + 10 || hasEnded.value }
        #expect(!hasEnded.value, "It has to wait.")
        return task
    }

    private func leases() async throws -> [CacheKey: CacheRecord] {
        let group = CacheGroup.application(application.configuration.clientID)
        return try await othersCache.storage.records(of: .lease, in: group)
    }

    private var spent: [String] { setup.provider.requests.compactMap { $0["refresh_token"] } }

    private func expectEachSentOnce(_ count: Int, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(spent.count == count && Set(spent).count == count, sourceLocation: sourceLocation)
    }

    private func isFailed(_ persistence: AuthenticationResult.Persistence) -> Bool {
        if case .failed = persistence { true } else { false }
    }
}
