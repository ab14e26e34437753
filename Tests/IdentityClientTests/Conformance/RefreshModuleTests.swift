// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// The relying-party modules about refresh tokens, each under its identifier without `oidcc-client-`.
@Suite(.timeLimit(.minutes(1)))
struct RefreshModuleTests {
    @Test func test_refresh_token() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3600))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider && next.accessToken != first.accessToken)
        #expect(try await application.userInfo(for: next.account).subject == "subject-alice")
        let sent = try #require(setup.provider.requests.last { $0.endpoint == .userInfo })
        #expect(sent.header("Authorization") == next.authorizationHeader)
    }

    @Test func test_refresh_token_invalid_issuer() async throws {
        try await refuse(.issuer("https://login.example.test/other"), for: "(iss)")
    }

    @Test func test_refresh_token_invalid_sub() async throws {
        try await refuse(.subject("another"), for: "(sub)")
    }

    private func refuse(_ tampering: IDTokenTampering, for reason: String) async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3600))
        setup.provider.tamperNextIDToken(with: tampering)
        let error = try await expectError(.invalidIDToken) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        #expect(error.message.contains(reason), "\(error.message)")
        #expect(try await application.allAccounts() == [first.account])
        // The refused answer's access token is neither kept nor sent.
        let kept = try await setup.storedTokens(of: application).flatMap(\.accessTokens).map(\.secret)
        #expect(kept == [first.accessToken])
    }
}
