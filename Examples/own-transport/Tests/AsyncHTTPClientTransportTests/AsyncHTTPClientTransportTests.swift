// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClientTransport
import HTTPTypes
import IdentityClient
import IdentityTesting
import Testing

@Suite(.timeLimit(.minutes(1))) struct AsyncHTTPClientTransportTests {
    let clock = ManualClock()
    let provider: TestIdentityProvider
    let authority: Authority

    init() throws {
        provider = try TestIdentityProvider(clock: clock)
        authority = try provider.listen()
    }

    /// The request for the provider's discovery document.
    private var discovery: HTTPRequest {
        HTTPRequest(
            method: .get,
            scheme: "http",
            authority: String(authority.description.dropFirst("http://".count)),
            path: "/.well-known/openid-configuration"
        )
    }

    private func code(_ transport: AsyncHTTPClientTransport) async -> AuthenticationError.Code? {
        do {
            _ = try await transport.send(discovery, body: nil)
            return nil
        } catch {
            return (error as? AuthenticationError)?.code
        }
    }

    @Test func signsInAndRenews() async throws {
        var configuration = ClientConfiguration(
            clientID: "test-client",
            authority: authority,
            cache: InMemoryTokenCache()
        )
        configuration.transport = AsyncHTTPClientTransport()
        configuration.browser = ScriptedBrowser(provider: provider, signingInAs: .alice)
        configuration.clock = clock
        let app = try PublicClientApplication(configuration)

        let first = try await app.acquireTokenInteractively(scopes: ["email"])
        #expect(first.account.username == "alice@example.test")
        clock.advance(by: .seconds(3600))
        let second = try await app.acquireTokenSilently(scopes: ["email"], account: first.account)
        #expect(second.source == .identityProvider)
        #expect(provider.count(of: .token) == 2)
    }

    @Test func givesStatusFieldsAndBody() async throws {
        provider.failNext(
            .discovery,
            with: .answer(status: 503, headers: [("Retry-After", "7"), ("X-A", "1"), ("X-A", "2")], body: "later")
        )
        let (response, body) = try await AsyncHTTPClientTransport().send(discovery, body: nil)
        #expect(response.status.code == 503)
        #expect(response.headerFields[.retryAfter] == "7")
        let name = try #require(HTTPField.Name("X-A"))
        #expect(response.headerFields[values: name] == ["1", "2"])
        #expect(String(decoding: body, as: UTF8.self) == "later")
    }

    @Test func doesNotFollowRedirects() async throws {
        provider.failNext(.discovery, with: .redirect(to: "\(authority)/elsewhere"))
        let (response, _) = try await AsyncHTTPClientTransport().send(discovery, body: nil)
        #expect(response.status.code == 307)
        #expect(provider.requests.count == 1)
    }

    @Test(arguments: [false, true]) func refusesLargeAnswers(saysItsLength: Bool) async throws {
        provider.failNext(.discovery, with: saysItsLength ? .oversized() : .endless)
        #expect(await code(AsyncHTTPClientTransport()) == .malformedResponse)
    }

    @Test func doesNotWaitForAnAnswerForever() async throws {
        let gate = TestGate()
        defer { gate.open() }
        provider.failNext(.discovery, with: .held(by: gate))
        #expect(await code(AsyncHTTPClientTransport(timeout: .milliseconds(200))) == .networkTimedOut)
        #expect(provider.count(of: .discovery) == 1)
    }

    @Test func doesNotReadABodyForever() async throws {
        provider.failNext(.discovery, with: .endless)
        let transport = AsyncHTTPClientTransport(timeout: .milliseconds(200), maximumResponseBytes: 1 << 30)
        #expect(await code(transport) == .networkTimedOut)
    }

    @Test func sendsOnceAlthoughTheConnectionBreaks() async throws {
        provider.failAlways(.discovery, with: .drop)
        #expect(await code(AsyncHTTPClientTransport()) == .connectionFailed)
        #expect(provider.count(of: .discovery) == 1)
    }

    @Test func saysAtOnceThatNobodyAnswers() async throws {
        let request = discovery
        provider.close()
        let started = ContinuousClock.now
        await #expect { try await AsyncHTTPClientTransport().send(request, body: nil) } throws: { error in
            (error as? AuthenticationError)?.code == .connectionFailed
        }
        #expect(ContinuousClock.now - started < .seconds(5), "Whether to try again is for the library to decide.")
    }

    @Test func endsWhenItsTaskIsCancelled() async throws {
        let gate = TestGate()
        defer { gate.open() }
        provider.failNext(.discovery, with: .held(by: gate))
        let transport = AsyncHTTPClientTransport()
        let request = discovery
        let task = Task { try await transport.send(request, body: nil) }
        try await provider.waitForRequest(.discovery)
        let started = ContinuousClock.now
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(ContinuousClock.now - started < .seconds(1))
    }
}
