// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityTestSupport
import SystemSupport
import Testing

@testable import TokenForwarding

/// Requests that the forwarder sends twice: with another token, or on another connection.
@Suite(.timeLimit(.minutes(1))) struct RepetitionTests {
    private let hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
    private let refusal = """
        HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer error="invalid_token"\r\nContent-Length: 2\r\n\r\nno
        """

    // MARK: A token that was taken back

    @Test(arguments: ["", "Content-Length: 3\r\n", "Transfer-Encoding: chunked\r\n"])
    func sendsTheRequestAgainWithAnotherToken(_ framing: String) async throws {
        let (hello, refusal) = (hello, refusal)
        let bodies = Box<[String]>([])
        let upstream = try Upstream { (connection: Upstream.Connection) in
            while let head = connection.readHead() {
                let end = head.contains("chunked") ? "0\r\n\r\n" : "abc"
                if head.hasPrefix("POST") { bodies.change { $0.append(connection.read(through: end) ?? "none") } }
                connection.send(head.hasSuffix("Bearer T2") ? hello : refusal)
            }
        }
        let forwarder = try RunningForwarder(to: "127.0.0.1:\(upstream.port)")
        let client = try forwarder.connect()
        let body = framing.isEmpty ? "" : framing.hasPrefix("C") ? "abc" : "3\r\nabc\r\n0\r\n\r\n"
        client.send(forwarder.head(framing.isEmpty ? "GET /" : "POST /", framing) + body)
        #expect(try await client.receive(endingWith: "hello") == hello)
        #expect(bodies.value == (framing.isEmpty ? [] : [body, body]))
        let wishes = forwarder.desk.wishes.value
        #expect(wishes.map(\.refused) == [nil, "T1"] && wishes[1].challenges == ["Bearer error=\"invalid_token\""])
        #expect(wishes[0].begun == wishes[1].begun)
    }

    /// The server answers when a part of the body has come: the rest goes to the second request alone.
    @Test func goesOnWithTheBodyOfARepeatedRequest() async throws {
        let (hello, refusal) = (hello, refusal)
        let upstream = try Upstream { (connection: Upstream.Connection) in
            guard let head = connection.readHead() else { return }
            if head.hasSuffix("Bearer T1") {
                _ = connection.discard(3)
                connection.send(refusal)
                _ = connection.isEnded()
            } else {
                connection.send(connection.discard(6) == 6 ? hello : refusal)
            }
        }
        let forwarder = try RunningForwarder(to: "127.0.0.1:\(upstream.port)")
        let client = try forwarder.connect()
        client.send(forwarder.head("POST /", "Content-Length: 6\r\n") + "abc")
        #expect(try await eventually { forwarder.desk.wishes.value.count == 2 })
        client.send("def")
        #expect(try await client.receive(endingWith: "hello") == hello)
    }

    @Test(arguments: ["T1", "T2"]) func saysThatAFreshTokenIsRefused(_ second: String) async throws {
        let upstream = try Upstream { [refusal] _ in refusal }
        let desk = NumberedDesk { (wish, _) throws(ForwardingProblem) in wish.refused == nil ? "T1" : second }
        let forwarder = try RunningForwarder(to: "127.0.0.1:\(upstream.port)", desk: desk)
        let client = try forwarder.connect()
        client.send(forwarder.head("GET /"))
        let answer = try await client.receive(endingWith: "\r\n\r\nno")
        #expect(answer.hasPrefix("HTTP/1.1 403 refused-by-server\r\n") && !answer.contains("WWW-Authenticate"))
        // The desk that gave the same token has renewed it for another request a moment ago.
        #expect(upstream.heads.count == (second == "T1" ? 1 : 2) && desk.wishes.value.count == 2)
    }

    @Test func passesTheDesksReasonInPlaceOfARefusal() async throws {
        let upstream = try Upstream { [refusal] _ in refusal }
        let desk = NumberedDesk { (wish, _) throws(ForwardingProblem) in
            guard wish.refused == nil else { throw ForwardingProblem(.signInNeeded, "run: identityctl login") }
            return "T1"
        }
        let forwarder = try RunningForwarder(to: "127.0.0.1:\(upstream.port)", desk: desk)
        let answer = try await exchange(forwarder.head("GET /"), port: forwarder.port)
        #expect(answer.hasPrefix("HTTP/1.1 403 sign-in-needed") && answer.contains("run: identityctl login"))
    }

    @Test func renewsAtTheStatusesOfTheRoute() async throws {
        let upstream = try Upstream { [hello] head in
            head.hasSuffix("Bearer T1") ? "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n" : hello
        }
        let forwarder = try RunningForwarder(to: "127.0.0.1:\(upstream.port)") { $0.renewsOn = [401, 403] }
        let client = try forwarder.connect()
        client.send(forwarder.head("GET /"))
        #expect(try await client.receive(endingWith: "hello") == hello)
    }

    @Test(arguments: [true, false]) func wantsALongRequestAgain(isChunked: Bool) async throws {
        let refusal = refusal
        let upstream = try Upstream { (connection: Upstream.Connection) in
            _ = connection.readHead()
            _ = connection.discard(2000)
            connection.send(refusal)
            _ = connection.isEnded()
        }
        var limits = ForwardingLimits()
        limits.body = 1000
        let forwarder = try RunningForwarder(to: "127.0.0.1:\(upstream.port)", limits: limits)
        let client = try forwarder.connect()
        let body = String(repeating: "a", count: 2000)
        client.send(
            isChunked
                ? forwarder.head("POST /", "Transfer-Encoding: chunked\r\n") + "7d0\r\n\(body)\r\n0\r\n\r\n"
                : forwarder.head("POST /", "Content-Length: 2000\r\n") + body
        )
        let answer = try await client.receive()
        #expect(answer.hasPrefix("HTTP/1.1 503 token-renewed\r\n") && answer.contains("Retry-After: 1\r\n"))
    }

    /// The room that one request took is free for the next one.
    @Test func keepsNoMoreThanTheRoomForAllBodies() async throws {
        let upstream = try Upstream { [hello] _ in hello }
        var limits = ForwardingLimits()
        limits.bodies = 5
        let forwarder = try RunningForwarder(to: "127.0.0.1:\(upstream.port)", limits: limits)
        let client = try forwarder.connect()
        for _ in 0..<4 {
            client.send(forwarder.head("POST /", "Content-Length: 3\r\n") + "abc")
            #expect(try await client.receive(endingWith: "hello") == hello)
        }
        // The room is given back after the answer has left.
        try await wait { forwarder.forwarder.keep(5) }
        #expect(!forwarder.forwarder.keep(1))
    }

    // MARK: A connection that ended while it waited

    /// Serves one request on each connection, and ends it when the next one has come.
    private func forgetful() throws -> Upstream {
        try Upstream { [hello] (connection: Upstream.Connection) in
            guard let head = connection.readHead() else { return }
            _ = connection.discard(head.contains("Content-Length: 3") ? 3 : 0)
            connection.send(hello)
            _ = connection.readHead()
        }
    }

    @Test(arguments: ["GET", "PUT", "DELETE"]) func repeatsOnAnotherConnection(_ method: String) async throws {
        let upstream = try forgetful()
        let forwarder = try RunningForwarder(to: "127.0.0.1:\(upstream.port)")
        let client = try forwarder.connect()
        for _ in 0..<3 {
            let request =
                method == "PUT"
                ? forwarder.head("PUT /", "Content-Length: 3\r\n") + "abc" : forwarder.head("\(method) /")
            client.send(request)
            #expect(try await client.receive(endingWith: "hello") == hello)
        }
        #expect(upstream.connections == 3)
    }

    @Test func repeatsNothingThatMayHaveBeenDone() async throws {
        let upstream = try forgetful()
        let forwarder = try RunningForwarder(to: "127.0.0.1:\(upstream.port)")
        let client = try forwarder.connect()
        client.send(forwarder.head("POST /", "Content-Length: 3\r\n") + "abc")
        #expect(try await client.receive(endingWith: "hello") == hello)
        client.send(forwarder.head("POST /", "Content-Length: 3\r\n") + "abc")
        #expect(try await client.receive().hasPrefix("HTTP/1.1 502 unknown-whether-done\r\n"))
        #expect(upstream.connections == 1)
    }

    /// A server that ends each connection would be asked for ever.
    @Test func repeatsOnce() async throws {
        let upstream = try Upstream { [hello] (connection: Upstream.Connection) in
            guard connection.readHead() != nil, connection.number == 1 else { return }
            connection.send(hello)
            _ = connection.readHead()
        }
        let forwarder = try RunningForwarder(to: "127.0.0.1:\(upstream.port)")
        let client = try forwarder.connect()
        client.send(forwarder.head("GET /"))
        #expect(try await client.receive(endingWith: "hello") == hello)
        client.send(forwarder.head("GET /"))
        #expect(try await client.receive().hasPrefix("HTTP/1.1 502 upstream-bad-answer\r\n"))
        #expect(upstream.connections == 2)
    }

    /// Bytes behind an answer would be taken for the answer to the next request.
    @Test(arguments: ["HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", "\r\n", "x"])
    func usesNoConnectionWithMoreThanAnAnswer(_ more: String) async throws {
        let (received, sent) = (Box(0), Box(0))
        let upstream = try Upstream { [hello] (connection: Upstream.Connection) in
            while connection.readHead() != nil {
                connection.send(hello)
                // Later, or the bytes come with the answer and are seen at once.
                let deadline = ContinuousClock.now + .seconds(10)
                while received.value <= sent.value, ContinuousClock.now < deadline { usleep(1000) }
                connection.send(more)
                sent.change { $0 += 1 }
            }
        }
        let forwarder = try RunningForwarder(to: "127.0.0.1:\(upstream.port)")
        let client = try forwarder.connect()
        for number in 1...3 {
            client.send(forwarder.head("GET /"))
            #expect(try await client.receive(endingWith: "hello") == hello)
            received.change { $0 += 1 }
            #expect(try await eventually { sent.value == number })
            #expect(upstream.connections == number)
        }
    }
}
