// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityClient
import IdentityTestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct CurlTransportTests {
    private let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    @Test func postsWhatTheRequestSaysAndNothingElse() async throws {
        let server = try ScriptedServer(answering: ok)
        defer { server.close() }
        var request = HTTPRequest.post(server, "/token?x=1&y=%2F..%2e")
        request.headerFields[.contentType] = "application/x-www-form-urlencoded"
        request.headerFields[.contentLength] = "1"
        request.headerFields[HTTPField.Name("Host")!] = "other.example"
        request.headerFields.append(HTTPField(name: HTTPField.Name("X-Twice")!, value: "1"))
        request.headerFields.append(HTTPField(name: HTTPField.Name("X-Twice")!, value: "2"))
        request.headerFields.append(HTTPField(name: HTTPField.Name("X-Empty")!, value: ""))
        let body = (0..<3000).map { UInt8(truncatingIfNeeded: $0) }

        let (response, answer) = try await CurlTransport().send(request, body: body)

        #expect(response.status == .ok)
        #expect(answer == Array("ok".utf8))
        let seen = try #require(server.requests.first)
        #expect(seen.line == "POST /token?x=1&y=%2F..%2e HTTP/1.1")
        #expect(seen.body == body)
        #expect(seen.values("content-length") == ["3000"])
        #expect(seen.values("host") == ["127.0.0.1:\(server.port)"])
        #expect(seen.values("x-twice") == ["1", "2"])
        #expect(seen.values("x-empty") == [""])
        #expect(seen.values("accept-encoding") == ["identity"])
        #expect(seen.values("content-type") == ["application/x-www-form-urlencoded"])
        for name in ["accept", "expect", "user-agent", "cookie", "referer", "authorization"] {
            #expect(seen.values(name).isEmpty, "\(name)")
        }
    }

    @Test(arguments: [CurlTransport(), .takenForAnOlderLibrary()])
    func aLargeBodyIsSentWithoutAskingFirst(transport: CurlTransport) async throws {
        let server = try ScriptedServer(answering: ok)
        defer { server.close() }
        let body = [UInt8](repeating: 7, count: 3_000_000)

        _ = try await transport.send(.post(server), body: body)

        #expect(server.requests.first?.body == body)
        #expect(server.requests.first?.values("expect") == [])
    }

    @Test func getsWithoutABodyAndPostsAnEmptyOne() async throws {
        let server = try ScriptedServer(answering: ok)
        defer { server.close() }
        let transport = CurlTransport()

        _ = try await transport.send(.get(server, "/a/../b"), body: nil)
        _ = try await transport.send(.post(server), body: nil)

        #expect(server.requests.map(\.line) == ["GET /a/../b HTTP/1.1", "POST / HTTP/1.1"])
        #expect(server.requests.map { $0.values("content-length") } == [[], ["0"]])
        #expect(server.requests.map { $0.values("content-type") } == [[], []])
    }

    @Test func oneConnectionServesManyRequests() async throws {
        let server = try ScriptedServer(answering: ok)
        defer { server.close() }
        let transport = CurlTransport()

        for _ in 0..<3 { _ = try await transport.send(.post(server), body: [1]) }

        #expect(server.requests.count == 3)
        #expect(server.connections == 1)
    }

    @Test func aRedirectIsAnAnswerAndNotFollowed() async throws {
        let server = try ScriptedServer { request in
            [
                .send(
                    Array(
                        "HTTP/1.1 307 x\r\nLocation: http://\(request.values("host")[0])/b\r\nContent-Length: 0\r\n\r\n"
                            .utf8
                    )
                )
            ]
        }
        defer { server.close() }

        let (response, _) = try await CurlTransport().send(.post(server, "/a"), body: [1])

        #expect(response.status.code == 307)
        #expect(response.headerFields[.location]?.hasSuffix("/b") == true)
        #expect(server.requests.count == 1)
    }

    @Test func severalFieldsOfOneNameAreKept() async throws {
        let server = try ScriptedServer(
            answering: "HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 0\r\n\r\n"
        )
        defer { server.close() }
        let transport = CurlTransport()

        let (response, _) = try await transport.send(.get(server), body: nil)
        _ = try await transport.send(.get(server), body: nil)

        #expect(response.headerFields[values: .setCookie] == ["a=1", "b=2"])
        #expect(server.requests.last?.values("cookie") == [])
    }

    @Test func informationalAnswersAndTrailersAreLeftOut() async throws {
        let server = try ScriptedServer(
            answering: """
                HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n\
                HTTP/1.1 401 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\nX-Late: 1\r\n\r\n
                """
        )
        defer { server.close() }

        let (response, body) = try await CurlTransport().send(.get(server), body: nil)

        #expect(response.status.code == 401)
        #expect(response.headerFields.contains { $0.name.canonicalName.hasPrefix("x-") } == false)
        #expect(body == Array("no".utf8))
    }

    @Test func oneHundredRequestsAtATimeAreAllAnswered() async throws {
        let server = try ScriptedServer { request in
            let text = String(request.line.split(separator: " ")[1])
            return [.send(Array("HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)".utf8))]
        }
        defer { server.close() }
        let transport = CurlTransport()

        let answers = try await withThrowingTaskGroup(of: (String, String).self) { group in
            for number in 0..<100 {
                group.addTask {
                    let (_, body) = try await transport.send(.post(server, "/\(number)"), body: [1])
                    return ("/\(number)", String(decoding: body, as: UTF8.self))
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }

        #expect(answers.count == 100)
        #expect(answers.allSatisfy { $0 == $1 })
    }

    @Test(arguments: [CurlTransport(), .takenForAnOlderLibrary()])
    func aRequestWhoseBodyWasReadIsNotSentAgain(transport: CurlTransport) async throws {
        let server = try ScriptedServer { [ok] request in
            request.line.contains("/lost") ? [.close] : [.send(Array(ok.utf8))]
        }
        defer { server.close() }
        _ = try await transport.send(.post(server, "/first"), body: [1])

        let error = try await transport.failure(.post(server, "/lost"), body: Array("code=secret".utf8))

        #expect(error?.code == .connectionFailed)
        #expect(server.requests.map(\.line) == ["POST /first HTTP/1.1", "POST /lost HTTP/1.1"])
    }

    @Test func aConnectionThatTheServerClosedMeanwhileIsNotUsedAgain() async throws {
        let server = try ScriptedServer { [ok] _ in [.send(Array(ok.utf8)), .close] }
        defer { server.close() }
        let transport = CurlTransport()

        for _ in 0..<5 {
            let (response, _) = try await transport.send(.post(server), body: [1])
            #expect(response.status == .ok)
            #expect(await happens { server.openConnections == 0 })
        }
        #expect(server.requests.count == 5)
    }
}
