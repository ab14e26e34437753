// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// A refused refresh token is noted in the record, so that no process sends it again at once.
@Suite(.timeLimit(.minutes(1)))
struct RefusedRefreshTokenTests {
    /// Someone signed in, whose access token has expired, and whose refresh token is refused.
    private func refused(_ profile: TestIdentityProvider.Profile = .openIDConnect) async throws -> (TestSetup, Account)
    {
        let setup = try TestSetup(profile) { $0.rotatesRefreshTokens = false }
        let (_, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3600))
        setup.provider.failAlways(.token, with: .refusal("invalid_grant"))
        setup.provider.forgetRequests()
        return (setup, first.account)
    }

    /// The error of a new process, which knows only the contents of the cache.
    @discardableResult
    private func refusal(_ setup: TestSetup, _ account: Account, _ scope: Scope = "api.read") async throws
        -> AuthenticationError
    {
        try await expectError(.signInExpired) {
            try await setup.application().acquireTokenSilently(scopes: [scope], account: account)
        }
    }

    @Test func aHundredProcessesSendARefusedTokenOnce() async throws {
        let (setup, account) = try await refused()
        #expect(try await refusal(setup, account).serverError?.error == "invalid_grant")
        for _ in 0..<99 {
            let error = try await refusal(setup, account)
            #expect(error.retryAfter == .seconds(60) && error.message.contains("sign in interactively"))
        }
        #expect(setup.provider.count(of: .token) == 1)
    }

    @Test func sendsARefusedTokenAgainAfterGrowingPauses() async throws {
        let (setup, account) = try await refused()
        for (index, pause) in [60, 120, 240, 480, 960, 1920, 3600, 3600].enumerated() {
            try await refusal(setup, account)
            setup.clock.advance(by: .seconds(pause - 1))
            #expect(try await refusal(setup, account).retryAfter == .seconds(1))
            #expect(setup.provider.count(of: .token) == index + 1)
            setup.clock.advance(by: .seconds(1))
        }
        // A refusal that was none for good is over with the next answer.
        setup.provider.failAlways(.token, with: nil)
        let next = try await setup.application().acquireTokenSilently(scopes: ["api.read"], account: account)
        #expect(next.source == .identityProvider)
        #expect(try await refreshToken(setup)?.refusals == [])
        setup.clock.advance(by: .seconds(3600))
        setup.provider.failAlways(.token, with: .refusal("invalid_grant"))
        try await refusal(setup, account)
        #expect(try await refusal(setup, account).retryAfter == .seconds(60))
    }

    /// A token of Microsoft's other programs, which a shared cache gives to a client that may be of their family.
    @Test func learnsThatATokenOfAFamilyIsNotForThisClient() async throws {
        let (setup, account) = try await refused(.entra)
        let (key, record) = try #require(try await setup.storedCredentials(of: setup.application()).first)
        var credentials = try AccountCredentials(decoding: record.bytes) { _ in ScopeRule(ignoresCase: false) }
        credentials.refreshToken?.familyID = "1"
        #expect(try await setup.cache.replace(record, with: CacheRecord(bytes: credentials.encoded()), for: key))
        setup.provider.failAlways(.token, with: .refusal("invalid_grant", suberror: "client_mismatch"))
        let error = try await expectError(.noTokensFound) {
            try await setup.application().acquireTokenSilently(scopes: ["api.read"], account: account)
        }
        #expect(error.serverError?.suberror == "client_mismatch" && error.message.contains("sign in interactively"))
        let token = try await refreshToken(setup)
        #expect(token?.secret == credentials.refreshToken?.secret && token?.familyID == nil)
        #expect(setup.provider.count(of: .token) == 1)
    }

    @Test func aForcedRefreshSendsARefusedToken() async throws {
        let (setup, account) = try await refused()
        for count in 1...3 {
            try await expectError(.signInExpired) {
                try await setup.application().acquireTokenSilently(
                    SilentParameters(scopes: ["api.read"], account: account, forcesRefresh: true)
                )
            }
            #expect(setup.provider.count(of: .token) == count)
        }
    }

    @Test func aRefusalDoesNotConcernTheTokenOfANewSignIn() async throws {
        let (setup, account) = try await refused()
        try await refusal(setup, account)
        setup.provider.failAlways(.token, with: nil)
        _ = try await setup.application().acquireTokenInteractively(scopes: ["api.read"])
        setup.clock.advance(by: .seconds(3600))
        let next = try await setup.application().acquireTokenSilently(scopes: ["api.read"], account: account)
        #expect(next.source == .identityProvider)
    }

    /// With Microsoft's providers, one refresh token works for many APIs, and a refusal may concern only one of them.
    @Test func aRefusalDoesNotConcernOtherAPIsAtMicrosoft() async throws {
        let (setup, account) = try await refused(.entra)
        for _ in 0..<3 {
            for scope in ["api.read", "api.other"] as [Scope] { try await refusal(setup, account, scope) }
        }
        #expect(setup.provider.count(of: .token) == 2)
    }

    @Test func aRefusalDoesNotCountAfterTheClockWasSetBack() async throws {
        let (setup, account) = try await refused()
        try await refusal(setup, account)
        setup.provider.failAlways(.token, with: nil)
        setup.clock.advance(by: .seconds(-7200 - 3600))
        let next = try await setup.application().acquireTokenSilently(scopes: ["api.read"], account: account)
        #expect(next.source == .identityProvider)
    }

    /// Meanwhile, a token that is still valid is used.
    @Test func keepsAnAccessTokenThatIsStillValid() async throws {
        let setup = try TestSetup()
        let (_, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3400))
        setup.provider.failAlways(.token, with: .refusal("invalid_grant"))
        setup.provider.forgetRequests()
        for _ in 0..<3 {
            let result = try await setup.application().acquireTokenSilently(
                scopes: ["api.read"],
                account: first.account
            )
            #expect(result.source == .cache && result.accessToken == first.accessToken)
        }
        #expect(setup.provider.count(of: .token) == 1)
    }

    /// The caller must learn that a person is needed, not that the refusal could not be stored.
    @Test(arguments: [nil, "bad_token"])
    func reportsARefusalThatCannotBeStored(_ suberror: String?) async throws {
        let cache = UnreliableCache()
        let setup = try TestSetup(cache: cache)
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3600))
        setup.provider.failAlways(.token, with: .refusal("invalid_grant", suberror: suberror))
        cache.refusedWrites = [.account]
        try await expectError(.signInExpired) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        #expect(cache.refusalCount > 0)
    }

    /// A record that cannot be read meanwhile must not hide the provider's answer either.
    @Test func reportsARefusalIfTheRecordCannotBeReadAgain() async throws {
        let cache = UnreliableCache()
        let setup = try TestSetup(cache: cache)
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3600))
        let (gate, sent) = (TestGate(), setup.provider.count(of: .token))
        setup.provider.failNext(.token, with: .held(by: gate, then: .refusal("invalid_grant")))
        let refused = Task { try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account) }
        try await setup.provider.waitForRequest(.token, count: sent + 1)
        cache.refusesReads = true
        gate.open()
        try await expectError(.signInExpired) { try await refused.value }
    }

    private func refreshToken(_ setup: TestSetup) async throws -> CachedRefreshToken? {
        let records = try await setup.storedCredentials(of: setup.application())
        return try records.values.first.map { record in
            try AccountCredentials(decoding: record.bytes) { _ in ScopeRule(ignoresCase: false) }.refreshToken
        } ?? nil
    }
}
