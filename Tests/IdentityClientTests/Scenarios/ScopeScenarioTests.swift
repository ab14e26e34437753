// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTesting
import Testing

/// Fewer scopes than asked for, and a provider without OpenID Connect.
@Suite(.timeLimit(.minutes(1)))
struct ScopeScenarioTests {
    @Test func tellsWhichScopesWereNotGranted() async throws {
        let stage = try Stage { $0.declinedScopes = ["api.write"] }
        let (application, first) = try await stage.signedIn(scopes: ["api.read", "api.write"])
        #expect(first.declinedScopes == ["api.write"])
        #expect(first.scopes.contains("api.read") && !first.scopes.contains("api.write"))
        // The same question gets the same answer, without asking the provider over and over.
        let hit = try await application.acquireTokenSilently(
            scopes: ["api.read", "api.write"],
            account: first.account
        )
        #expect(hit.source == .cache && hit.declinedScopes == ["api.write"])
        #expect(stage.provider.count(of: .token) == 1)
    }

    @Test func refusesWhenNothingWasGrantedButRemembersThePerson() async throws {
        let stage = try Stage { $0.declinedScopes = ["api.write"] }
        let application = try stage.application()
        try await expectError(.scopesDeclined) {
            try await application.acquireTokenInteractively(scopes: ["api.write"])
        }
        #expect(try await application.allAccounts().count == 1)
        #expect(try await stage.browser.finalPage().body != "succeeded")
    }

    @Test func signsInWhereNobodyTellsWhoItIs() async throws {
        let stage = try Stage { $0.requiresOfflineAccess = false }
        let authority = try Authority.oauth2(
            .init(authorization: "https://login.example.test/authorize", token: "https://login.example.test/token")
        )
        let (application, first) = try await stage.signedIn { $0.authority = authority }
        #expect(first.idToken == nil && !first.account.id.rawValue.isEmpty)
        #expect(stage.provider.count(of: .discovery) == 0 && stage.provider.count(of: .keys) == 0)
        let sent = try #require(stage.provider.requests.first { $0.endpoint == .authorization })
        #expect(sent["scope"] == "api.read" && sent["nonce"] == nil)
        let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(hit.source == .cache)
        stage.clock.advance(by: .seconds(3600))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider)

        // Signing in again for this account is still this account; without one it is another.
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.account = first.account
        let again = try await application.acquireTokenInteractively(parameters)
        #expect(again.account.id == first.account.id)
        let other = try await application.acquireTokenInteractively(scopes: ["api.read"])
        #expect(other.account.id != first.account.id)
        #expect(try await application.allAccounts().count == 2)
        try await application.remove(other.account)
        #expect(try await application.allAccounts().map(\.id) == [first.account.id])
    }
}
