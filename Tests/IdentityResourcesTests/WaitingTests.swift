// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityClient
import IdentityResources
import IdentityTestSupport
import IdentityTesting
import LoopbackHTTP
import Testing

/// Waits that a server requests, and waits with a limit.
@Suite(.timeLimit(.minutes(1)))
struct ResourceWaitingTests {
    private func busyServer(for count: Int, retryAfter: String) throws -> ResourceServer {
        let asked = Shared(0)
        return try ResourceServer { _ in
            let isBusy = asked.withLock { asked in
                asked += 1
                return asked <= count
            }
            guard isBusy else { return LoopbackResponse(status: 200, text: "at last") }
            return LoopbackResponse(status: 429, headers: ["Retry-After": retryAfter])
        }
    }

    @Test func waitsAsLongAsTheServerAsks() async throws {
        let setup = try TestSetup()
        let (client, _) = try await setup.resourceClient()
        let server = try busyServer(for: 2, retryAfter: "20")
        async let answer = client.get(server.url())
        for _ in 0..<2 {
            try await setup.clock.waitForSleepers(1)
            setup.clock.advance(by: .seconds(20))
        }
        #expect(text(try await answer.body) == "at last" && server.requests.count == 3)
    }

    @Test func givesBackTheAnswerWhenTheWaitIsTooLong() async throws {
        let setup = try TestSetup()
        let (client, _) = try await setup.resourceClient()
        let server = try busyServer(for: 1, retryAfter: "61")
        let (response, _) = try await client.get(server.url())
        #expect(response.status.code == 429 && response.headerFields[.retryAfter] == "61")
    }

    @Test(arguments: [HTTPRequest.Method.post, .patch])
    func repeatsNothingThatIsNotIdempotent(_ method: HTTPRequest.Method) async throws {
        let setup = try TestSetup()
        let (client, _) = try await setup.resourceClient()
        let server = try busyServer(for: 1, retryAfter: "0")
        let (response, _) = try await client.send(HTTPRequest(method, to: server.url()), body: .json([]))
        #expect(response.status.code == 429 && server.requests.count == 1)
    }

    @Test func cancellingEndsTheWait() async throws {
        let setup = try TestSetup()
        let (client, _) = try await setup.resourceClient()
        let server = try busyServer(for: 1, retryAfter: "20")
        let url = try server.url()
        let call = Task { try await client.get(url) }
        try await setup.clock.waitForSleepers(1)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(server.requests.count == 1)
    }

    @Test func endsACallThatTakesTooLong() async throws {
        let setup = try TestSetup()
        let server = try ScriptedServer { _ in
            [
                .send(Array("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n".utf8)),
                .sendForever([0x78], everyMilliseconds: 5),
            ]
        }
        let (client, _) = try await setup.resourceClient(timeout: .milliseconds(300))
        let request = HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:\(server.port)", path: "/")
        let start = ContinuousClock.now
        try await expectError(.networkTimedOut) { try await client.send(request) }
        #expect(ContinuousClock.now - start < .seconds(5))
    }

    @Test func refusesAnAnswerAboveTheLimit() async throws {
        let setup = try TestSetup()
        let (client, _) = try await setup.resourceClient(maximumResponseBytes: 4)
        let server = try ResourceServer { LoopbackResponse(status: 200, text: $0.path == "/fits" ? "1234" : "12345") }
        #expect(text(try await client.get(server.url("/fits")).body) == "1234")
        try await expectError(.malformedResponse) { try await client.get(server.url()) }
    }

    @Test func worksOverATransportThatCannotStream() async throws {
        let setup = try TestSetup()
        let transport = RecordingTransport(CurlTransport())
        let (client, token) = try await setup.resourceClient(transport: transport)
        let server = try ResourceServer { LoopbackResponse(status: 200, text: "got \($0.body.count)") }
        let (_, body) = try await client.send(HTTPRequest(.put, to: try server.url()), body: .bytes([1, 2, 3]))
        #expect(text(body) == "got 3" && server.authorizations == [token] && transport.count == 1)
    }
}
