// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityTestSupport
import IdentityTesting
import Testing

@testable import IdentityClient

/// A refresh token that another library has stored, taken over once.
@Suite(.timeLimit(.minutes(1)))
struct RefreshTokenImportTests {
    /// A sign-in by another library: its refresh token, its account, and the setup, whose cache is that library's store.
    private func old(
        _ profile: TestIdentityProvider.Profile,
        _ change: (inout TestIdentityProvider.Settings) -> Void = { _ in }
    ) async throws -> (TestSetup, token: String, Account) {
        let setup = try TestSetup(profile, change)
        let (application, result) = try await setup.signedIn()
        let token = try #require(try await setup.storedTokens(of: application).first?.refreshToken?.secret)
        setup.provider.forgetRequests()
        return (setup, token, result.account)
    }

    private func stored(_ cache: any TokenCache) async throws -> [AccountCredentials] {
        try await cache.records(of: .account, in: .application("test-client")).values.map { record in
            try AccountCredentials(decoding: record.bytes) { _ in ScopeRule(ignoresCase: false) }
        }
    }

    @Test(arguments: [TestIdentityProvider.Profile.openIDConnect, .entra, .b2c, .adfs])
    func storesTheAccountOfARedeemedToken(_ profile: TestIdentityProvider.Profile) async throws {
        let (setup, token, account) = try await old(profile)
        let cache = InMemoryTokenCache()
        let application = try setup.application { $0.cache = cache }
        let result = try await application.acquireToken(byRefreshToken: token, scopes: ["api.read"])
        #expect(result.source == .identityProvider && result.account.id == account.id)
        #expect(result.account.username == account.username)
        #expect(setup.provider.count(of: .token) == 1)
        #expect(try await application.allAccounts() == [result.account])
        let again = try await application.acquireTokenSilently(scopes: ["api.read"], account: result.account)
        #expect(again.source == .cache && again.accessToken == result.accessToken)
        setup.clock.advance(by: .seconds(3600))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: result.account)
        #expect(next.source == .identityProvider)
    }

    @Test(arguments: [true, false]) func storesTheNewTokenOrTheOldOneIfThereIsNoOther(_ rotates: Bool) async throws {
        let (setup, token, _) = try await old(.openIDConnect) { $0.rotatesRefreshTokens = rotates }
        let cache = InMemoryTokenCache()
        let result = try await setup.application { $0.cache = cache }.acquireToken(byRefreshToken: token)
        #expect(result.scopes.contains("api.read"), "Without scopes, the granted ones are asked for.")
        let secret = try #require(try await stored(cache).first?.refreshToken?.secret)
        #expect((secret == token) == !rotates)
    }

    @Test(arguments: [
        (TestIdentityProvider.Fault.refusal("invalid_grant"), AuthenticationError.Code.signInExpired),
        (.refusal("invalid_client"), .clientNotRegistered), (.serverError(), .serverUnavailable),
        (.changing("id_token", to: #""not.a.token""#), .invalidIDToken), (.changing("id_token", to: nil), .unsupported),
        (.changing("token_type", to: #""mac""#), .malformedResponse),
    ])
    func storesAndRevokesNothingIfItFails(_ fault: TestIdentityProvider.Fault, _ code: AuthenticationError.Code)
        async throws
    {
        let (setup, token, _) = try await old(.openIDConnect) { $0.rotatesRefreshTokens = false }
        let cache = InMemoryTokenCache()
        let application = try setup.application { $0.cache = cache }
        setup.provider.failAlways(.token, with: fault)
        let error = try await expectError(code) {
            try await application.acquireToken(byRefreshToken: token, scopes: ["api.read"])
        }
        #expect(!"\(error)".contains(token))
        #expect(try await stored(cache).isEmpty)
        #expect(setup.provider.count(of: .revocation) == 0)
        // The old token is as good as it was.
        setup.provider.failAlways(.token, with: nil)
        #expect(try await application.acquireToken(byRefreshToken: token).account.username == "alice@example.test")
    }

    @Test func sendsNothingBeforeTheAnswerCouldBeBelieved() async throws {
        let (setup, token, _) = try await old(.openIDConnect)
        let application = try setup.application { $0.cache = InMemoryTokenCache() }
        setup.provider.failAlways(.keys, with: .serverError())
        try await expectError(.serverUnavailable) { try await application.acquireToken(byRefreshToken: token) }
        for odd in ["", "a\nb", "\u{e9}", "a\0b", String(repeating: "a", count: 65_537)] {
            try await expectError(.invalidArgument) { try await application.acquireToken(byRefreshToken: odd) }
        }
        #expect(setup.provider.count(of: .token) == 0)
    }

    @Test func sendsATokenAgainWhoseAnswerWasLost() async throws {
        let (setup, token, _) = try await old(.openIDConnect) { $0.rotatesRefreshTokens = false }
        let application = try setup.application { $0.cache = InMemoryTokenCache() }
        setup.provider.failNext(.token, with: .drop)
        _ = try await application.acquireToken(byRefreshToken: token)
        #expect(setup.provider.count(of: .token) == 2)
    }
}
