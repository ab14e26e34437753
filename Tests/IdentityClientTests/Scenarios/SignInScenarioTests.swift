// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTesting
import Testing

@Suite struct SignInScenarioTests {
    @Test(
        .timeLimit(.minutes(1)),
        arguments: [TestIdentityProvider.Profile.openIDConnect, .entra, .externalID, .b2c, .adfs]
    )
    func signsInStaysSignedInAndSignsOut(profile: TestIdentityProvider.Profile) async throws {
        let clock = ManualClock()
        let provider = try TestIdentityProvider(profile: profile, clock: clock)
        let browser = ScriptedBrowser(provider: provider)
        var configuration = ClientConfiguration(
            clientID: "test-client",
            authority: provider.authority,
            cache: InMemoryTokenCache()
        )
        configuration.transport = provider.transport
        configuration.browser = browser
        configuration.redirectReceiver = LoopbackRedirectReceiver()
        configuration.clock = clock
        let app = try PublicClientApplication(configuration)

        let first = try await app.acquireTokenInteractively(scopes: ["api.read"])
        #expect(first.source == .identityProvider)
        #expect(try await app.allAccounts() == [first.account])

        let hit = try await app.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(hit.source == .cache)
        #expect(hit.accessToken == first.accessToken)

        clock.advance(by: .seconds(3600))
        let refreshed = try await app.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(refreshed.source == .identityProvider)
        #expect(refreshed.accessToken != first.accessToken)

        try await app.remove(first.account)
        #expect(try await app.allAccounts().isEmpty)
        await #expect(throws: AuthenticationError.self) {
            try await app.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
    }
}
