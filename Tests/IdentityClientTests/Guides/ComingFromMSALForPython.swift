// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityMSALCaches
import IdentityTestSupport
import IdentityTesting
import Testing

/// The steps of the guide *Coming from MSAL for Python*, exactly as written there (`Scripts/test` compares).
@Suite(.timeLimit(.minutes(1)))
struct ComingFromMSALForPython {
    @Test func theApplicationIsCreatedAsTheGuideSays() async throws {
        let cache = InMemoryTokenCache()
        let authority = try Authority.entra(.organizations)
        let app = try PublicClientApplication(.init(clientID: "your-client-id", authority: authority, cache: cache))
        #expect(try await app.allAccounts().isEmpty)
    }

    @Test func theStepsOfTheGuideWork() async throws {
        let setup = try TestSetup(.entra)
        let app = try setup.application()
        let result = try await signIn(to: app)
        do {
            _ = try await app.acquireTokenSilently(scopes: ["User.Read"], account: result.account)
        } catch let error as AuthenticationError where error.family == .interactionRequired {
            _ = try await app.acquireTokenInteractively(scopes: ["User.Read"])
        }
        #expect(setup.provider.count(of: .token) == 1, "The second call finds the token.")
        #expect(try await signIn(to: app).source == .cache)

        func show(_ url: URL) async throws -> URL {
            setup.browser.followsRedirects = false
            try await setup.browser.open(url)
            return try await setup.browser.redirectURL()
        }
        let request = try await app.prepareAuthorization(InteractiveParameters(scopes: ["User.Read"]))
        let received = try await show(request.url)
        let signedIn = try await app.completeAuthorization(request, with: received)

        let account = signedIn.account
        let wwwAuthenticate = [#"Bearer error="insufficient_claims", claims="eyJhIjoxfQ""#]
        let claims = SilentParameters.claims(inChallenges: wwwAuthenticate)
        var renewed = SilentParameters(scopes: ["User.Read"], account: account)
        renewed.claims = claims
        #expect(try await app.acquireTokenSilently(renewed).source == .identityProvider)

        try await app.signOut(account)
        #expect(try await app.allAccounts().isEmpty)
    }

    private func signIn(to app: PublicClientApplication) async throws -> AuthenticationResult {
        let account = try await app.allAccounts().first
        let result = try await app.acquireTokenSilentlyOrInteractively(scopes: ["User.Read"], account: account)
        return result
    }

    @Test func theDeviceCodeIsAskedForAsTheGuideSays() async throws {
        let setup = try TestSetup(.entra)
        setup.provider.failNext(.deviceAuthorization, with: .refusal("invalid_scope"))
        let app = try setup.application()
        try await expectError(.invalidScope) {
            let wanted = DeviceCodeParameters(scopes: ["User.Read"])
            let device = try await app.acquireTokenWithDeviceCode(wanted) { prompt in
                print(prompt.message)
            }
            return device
        }
    }

    @Test func theFileIsSharedAsTheGuideSays() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/tokens.json"
        let cache = try SharedMSALCache(.file(path), clientID: "your-client-id")
        let setup = try TestSetup(.entra, cache: cache)
        let app = try setup.application { $0.clientID = "your-client-id" }
        #expect(try await app.allAccounts().isEmpty)
    }
}
