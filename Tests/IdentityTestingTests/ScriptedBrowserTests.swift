// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTesting
import OAuthWire
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ScriptedBrowserTests {
    @Test func waitsAgainAfterAWaitThatTimedOut() async throws {
        let (provider, gate) = (try TestIdentityProvider(), Gate())
        provider.failNext(.authorization, with: .held(by: gate))
        let browser = ScriptedBrowser(provider: provider)
        browser.followsRedirects = false
        let client = ProviderClient(provider: provider)
        let address = try EndpointURL.appending(client.authorizationItems(), to: client.base + "/authorize")
        try await browser.open(#require(URL(string: address)))
        await #expect(throws: WaitTimedOut.self) { try await browser.finalPage(timeout: .milliseconds(20)) }
        await #expect(throws: WaitTimedOut.self) { try await browser.redirectURL(timeout: .milliseconds(20)) }
        gate.open()
        let redirect = try await browser.redirectURL()
        #expect(redirect.absoluteString.contains("code="))
        #expect(try await browser.finalPage().status < 400)
    }
}
