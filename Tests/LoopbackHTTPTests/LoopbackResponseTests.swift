// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityTestSupport
import LoopbackHTTP
import Testing

@Suite(.timeLimit(.minutes(1))) struct LoopbackResponseTests {
    private let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

    private func answer(_ response: LoopbackResponse, to request: String? = nil) async throws -> String {
        let server = try LoopbackServer.start { _ in response }
        defer { server.close() }
        return try await exchange(request ?? get, port: server.port)
    }

    @Test func canEndTheConnectionWithoutAnAnswer() async throws {
        #expect(try await answer(.dropped).isEmpty)
    }

    @Test func canSendLessThanItAnnounced() async throws {
        let response = LoopbackResponse(
            status: 200,
            headers: ["Content-Length": "10"],
            body: .stream { try await $0.write("abc") }
        )
        let answer = try await answer(response)
        #expect(answer.contains("Content-Length: 10\r\n") && answer.hasSuffix("\r\n\r\nabc"))
    }

    @Test func canSendAnything() async throws {
        #expect(
            try await answer(LoopbackResponse(status: 0, body: .raw { try await $0.write("no HTTP") })) == "no HTTP"
        )
    }

    @Test func canSendSlowly() async throws {
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        let server = try LoopbackServer.start { _ in
            LoopbackResponse(
                status: 200,
                body: .stream { writer in
                    try await writer.write("first,")
                    for await _ in gate { try await writer.write("second") }
                }
            )
        }
        defer { server.close() }
        let connection = try RawConnection(port: server.port)
        connection.send(get)
        _ = try await connection.receive(endingWith: "\r\n\r\nfirst,")
        opener.yield()
        opener.finish()
        #expect(try await connection.receive() == "second")
    }

    @Test func stopsAnEndlessBodyWhenTheReaderLeaves() async throws {
        let (ends, continuation) = AsyncStream.makeStream(of: Bool.self)
        let server = try LoopbackServer.start { _ in
            LoopbackResponse(
                status: 200,
                body: .stream { writer in
                    do {
                        while true { try await writer.write([UInt8](repeating: 0x61, count: 65536)) }
                    } catch {
                        continuation.yield(error is CancellationError)
                    }
                }
            )
        }
        defer { server.close() }
        do {
            let connection = try RawConnection(port: server.port)
            connection.send(get)
            let part = try await connection.receive { $0.count > 1_000_000 }
            #expect(part.utf8.count > 1_000_000)
        }
        var iterator = ends.makeAsyncIterator()
        #expect(await iterator.next() == true)
    }

    @Test func neverLetsAHeaderBeginALine() async throws {
        let response = LoopbackResponse(
            status: 303,
            headers: ["Location": "/a\r\nSet-Cookie: b\r\n\r\n<p>"],
            closesConnection: true
        )
        let answer = try await answer(response)
        #expect(answer.contains("Location: /a  Set-Cookie: b    <p>\r\n"))
    }

    @Test func tellsOfDelivery() async throws {
        let (deliveries, continuation) = AsyncStream.makeStream(of: Bool.self)
        let response = LoopbackResponse(status: 200, closesConnection: true) { continuation.yield($0) }
        #expect(try await answer(response).contains("Connection: close\r\n"))
        var iterator = deliveries.makeAsyncIterator()
        #expect(await iterator.next() == true)
    }
}
