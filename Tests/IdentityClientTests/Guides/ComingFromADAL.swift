// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// The steps of the guide *Coming from ADAL*, exactly as written there (`Scripts/test` compares).
@Suite(.timeLimit(.minutes(1)))
struct ComingFromADAL {
    func scope(ofResource resource: String) -> Scope { Scope(rawValue: "\(resource)/.default") }

    @Test func theApplicationIsCreatedAsTheGuideSays() async throws {
        let cache = InMemoryTokenCache()
        let authority = try Authority.entra(.tenant("contoso.com"))
        let app = try PublicClientApplication(.init(clientID: "your-client-id", authority: authority, cache: cache))
        #expect(try await app.allAccounts().isEmpty)
        #expect(scope(ofResource: "https://management.azure.com/") == "https://management.azure.com//.default")
    }

    @Test func theStepsOfTheGuideWork() async throws {
        let setup = try TestSetup(.entra)
        let app = try setup.application()
        let scopes: Set<Scope> = [scope(ofResource: "https://graph.microsoft.com")]
        var parameters = InteractiveParameters(scopes: scopes)
        parameters.loginHint = "alice@example.test"
        let first = try await app.acquireTokenInteractively(parameters)
        let asked = setup.provider.requests.first { $0.endpoint == .authorization }
        #expect(asked?["login_hint"] == first.account.username)

        let account = try await app.accounts(withUsername: "alice@example.test").first
        let result = try await app.acquireTokenSilentlyOrInteractively(scopes: scopes, account: account)
        #expect(result.source == .cache && result.account == first.account)

        setup.provider.failNext(.deviceAuthorization, with: .refusal("invalid_scope"))
        try await expectError(.invalidScope) {
            let device = try await app.acquireTokenWithDeviceCode(DeviceCodeParameters(scopes: scopes)) { prompt in
                print(prompt.message)
            }
            return device
        }
        try await app.signOut(result.account)
        #expect(try await app.allAccounts().isEmpty)
    }

    /// The provider knows no such token, so that nothing is taken over.
    @Test func aRefreshTokenIsTakenOverAsTheGuideSays() async throws {
        let setup = try TestSetup(.entra)
        let app = try setup.application()
        let (old, scopes): (String, Set<Scope>) = ("a-token-of-adal", ["User.Read"])
        func takeOver() async throws -> AuthenticationResult {
            let result = try await app.acquireToken(byRefreshToken: old, scopes: scopes)
            return result
        }
        await #expect(throws: AuthenticationError.self) { try await takeOver() }
        #expect(setup.provider.requests.contains { $0["refresh_token"] == old })
        #expect(try await app.allAccounts().isEmpty)
    }
}
