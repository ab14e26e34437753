// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ScriptedBrowserTests {
    @Test func waitsAgainAfterAWaitThatTimedOut() async throws {
        let (provider, gate) = (try TestIdentityProvider(), TestGate())
        provider.failNext(.authorization, with: .held(by: gate))
        let browser = ScriptedBrowser(provider: provider)
        browser.followsRedirects = false
        let client = ProviderClient(provider: provider)
        let address = try FormURLEncoded.appending(client.authorizationItems(), to: client.base + "/authorize")
        let url = try #require(URL(string: address))
        let opening = Task { try await browser.open(url) }
        try await provider.waitForRequest(.authorization)
        await #expect(throws: WaitTimedOut.self) { try await browser.finalPage(timeout: .milliseconds(20)) }
        await #expect(throws: WaitTimedOut.self) { try await browser.redirectURL(timeout: .milliseconds(20)) }
        gate.open()
        try await opening.value
        let redirect = try await browser.redirectURL()
        #expect(redirect.absoluteString.contains("code="))
        #expect(try await browser.finalPage().status < 400)
    }

    /// A test of a refusal proves nothing if the person is signed in.
    @Test(arguments: [true, false]) func refusesOnlyWhereAPageAsks(_ asks: Bool) async throws {
        let setup = try TestSetup { $0.consentScopes = asks ? ["api.read"] : [] }
        setup.browser.behaviour = .deny
        let error = try await expectError(asks ? .accessDenied : .configuration) {
            try await setup.application().acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(error.message.contains("consentScopes") != asks)
    }

    /// A person whom the provider lacks, and one with another password.
    @Test(arguments: ["carol@example.test", "alice@example.test"])
    func failsAtOnceWithAPersonWhomTheProviderDoesNotTake(_ username: String) async throws {
        let setup = try TestSetup()
        setup.browser.person = .init(username: username, password: "another", name: "c", subject: "c", objectID: "c")
        let error = try await expectError(.configuration) {
            try await setup.application().acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(error.message.contains("The username or the password is wrong."), "\(error.message)")
        #expect(try await setup.browser.finalPage().status == 200)
    }

    /// A sign-in that cannot succeed says at once what the provider said, and does not wait out its five minutes.
    @Test func failsAtOnceWithWhatTheProviderRefused() async throws {
        let setup = try TestSetup()
        let application = try setup.application { $0.clientID = "my-client" }
        let error = try await expectError(.configuration) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(error.message.hasSuffix("(400): This does not work The client is not known."))
        #expect(try await setup.browser.finalPage().status == 400)

        setup.provider.failNext(.authorization, with: .serverError())
        try await expectError(.serverUnavailable) {
            try await setup.application().acquireTokenInteractively(scopes: ["api.read"])
        }
        setup.provider.failNext(.authorization, with: .drop)
        try await expectError(.connectionFailed) {
            try await setup.application().acquireTokenInteractively(scopes: ["api.read"])
        }
        // Nothing of it stays.
        #expect(try await setup.signedIn().1.source == .identityProvider)
    }

    @Test func failsAtOnceWhereNothingListensForTheAnswer() async throws {
        let setup = try TestSetup()
        let application = try setup.application { $0.redirectReceiver = LoopbackRedirectReceiver() }
        let error = try await expectError(.redirectUnavailable) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(error.message.contains("http://127.0.0.1:") && error.message.contains("redirectReceiver"))
        // The other way round: nothing is opened for a receiver in memory.
        let other = ScriptedBrowser(provider: setup.provider)
        try await expectError(.connectionFailed) {
            try await setup.application { $0.browser = other }.acquireTokenInteractively(scopes: ["api.read"])
        }
    }

    @Test func signsInWithTheConfigurationThatAProviderMakes() async throws {
        let clock = ManualClock()
        let provider = try TestIdentityProvider(clock: clock)
        provider.add(TestIdentityProvider.Client(id: "my-client"))
        for receiver in [InMemoryRedirectReceiver(), nil] {
            let browser = ScriptedBrowser(provider: provider, receiver: receiver)
            let app = try PublicClientApplication(provider.configuration(browser: browser, clientID: "my-client"))
            let first = try await app.acquireTokenInteractively(scopes: ["email"])
            clock.advance(by: .seconds(3600))
            let next = try await app.acquireTokenSilently(scopes: ["email"], account: first.account)
            #expect(next.source == .identityProvider)
        }
    }
}
