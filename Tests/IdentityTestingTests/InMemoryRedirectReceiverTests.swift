// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

@Suite(.timeLimit(.minutes(1)))
struct InMemoryRedirectReceiverTests {
    let receiver = InMemoryRedirectReceiver()

    private func url(_ listener: any RedirectListener, _ query: String) throws -> URL {
        try #require(URL(string: listener.redirectURI.absoluteString + query))
    }

    @Test func handsOverARedirectAndBringsBackThePage() async throws {
        let listener = try await receiver.start(for: .loopback(host: .localhost, path: "/done"), responseMode: .query)
        let address = try url(listener, "?code=1&state=2")
        async let page = receiver.deliver(address)
        let redirect = try await listener.receive()
        #expect(redirect.url == address)
        #expect(!"\(redirect)".contains("code"))
        await listener.answer(redirect, with: RedirectPage(outcome: .succeeded, message: "Welcome"))
        #expect(try await page == RedirectPage(outcome: .succeeded, message: "Welcome"))
        await listener.close()
        #expect(!receiver.isListening(for: address))
        #expect(try await receiver.deliver(address) == nil)
    }

    @Test func refusesAFormWhereTheQueryWasAskedFor() async throws {
        let listener = try await receiver.start(for: .loopback, responseMode: .query)
        #expect(try await receiver.deliver(url(listener, "?code=1"), as: .formPost) == nil)
        await listener.close()
    }

    @Test func takesAQueryWhereAFormWasAskedFor() async throws {
        let listener = try await receiver.start(for: .loopback, responseMode: .formPost)
        let address = try url(listener, "?code=1")
        async let page = receiver.deliver(address)
        let redirect = try await listener.receive()
        #expect(redirect.url == address)
        await listener.answer(redirect, with: RedirectPage(outcome: .succeeded))
        #expect(try await page == RedirectPage(outcome: .succeeded))
        await listener.close()
    }

    @Test func takesTheFirstFreePortOfARange() async throws {
        let range = try RedirectURI.loopback(ports: 5001...5002)
        let first = try await receiver.start(for: range, responseMode: .query)
        let second = try await receiver.start(for: range, responseMode: .query)
        #expect(first.redirectURI.port == 5001 && second.redirectURI.port == 5002)
        await #expect { try await receiver.start(for: range, responseMode: .query) } throws: { error in
            (error as? AuthenticationError)?.code == .redirectUnavailable
        }
        await first.close()
        #expect(try await receiver.start(for: range, responseMode: .query).redirectURI.port == 5001)
    }

    @Test func endsWaitsWhenItIsClosedOrCancelled() async throws {
        let listener = try await receiver.start(for: .loopback, responseMode: .query)
        let cancelled = Task { try await listener.receive() }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }

        let waiting = Task { try await listener.receive() }
        let address = try url(listener, "?code=1")
        async let page = receiver.deliver(address)
        _ = try await waiting.value
        await listener.close()
        #expect(try await page == nil)
        await #expect(throws: CancellationError.self) { try await listener.receive() }
    }

    @Test(arguments: [ResponseMode.query, .formPost])
    func takesWhatABrowserBrings(_ mode: ResponseMode) async throws {
        let provider = try TestIdentityProvider()
        let browser = ScriptedBrowser(provider: provider, receiver: receiver)
        browser.redirectFaults = [.forgedFirst("state", value: nil)]
        let listener = try await receiver.start(for: .loopback, responseMode: mode)
        let client = ProviderClient(provider: provider)
        let items = client.authorizationItems([
            "redirect_uri": listener.redirectURI.absoluteString, "response_mode": mode.rawValue,
        ])
        let address = try FormURLEncoded.appending(items, to: "https://login.example.test/authorize")
        try await browser.open(#require(URL(string: address)))

        let forged = try await listener.receive()
        #expect(!forged.url.absoluteString.contains("state="))
        await listener.answer(forged, with: RedirectPage(outcome: .refused))
        let redirect = try await listener.receive()
        #expect(redirect.url.absoluteString.contains("state=the-state"))
        #expect(redirect.url.absoluteString.contains("code=code-"))
        await listener.answer(redirect, with: RedirectPage(outcome: .succeeded, message: "Welcome"))
        let page = try await browser.finalPage()
        #expect(page.status == 200 && page.body == "Welcome")
        await listener.close()
    }
}
