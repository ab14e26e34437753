// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityTestSupport
import LoopbackHTTP
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1))) struct LoopbackServerTests {
    private let get = "GET /hello?x=1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

    private func echo(
        hosts: [LoopbackServer.Host] = [.ipv4],
        port: UInt16 = 0,
        limits: LoopbackServer.Limits = .init()
    ) throws -> LoopbackServer {
        try LoopbackServer.start(hosts: hosts, port: port, limits: limits) { request in
            LoopbackResponse(status: 200, text: "\(request.method) \(request.target) \(request.body.count)")
        }
    }

    @Test func answersOnBothFamiliesWithOnePort() async throws {
        let server = try echo(hosts: [.ipv6, .ipv4])
        defer { server.close() }
        #expect(server.port != 0 && server.hosts == (machineHasIPv6 ? [.ipv4, .ipv6] : [.ipv4]))
        for host in server.hosts {
            let answer = try await exchange(get, port: server.port, overIPv6: host == .ipv6)
            #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n") && answer.hasSuffix("\r\n\r\nGET /hello?x=1 0"))
        }
    }

    @Test func keepsAConnectionForManyRequestsAndPipelinedOnes() async throws {
        let server = try echo()
        defer { server.close() }
        let connection = try RawConnection(port: server.port)
        for number in 0..<500 {
            connection.send("POST /\(number) HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab")
            let answer = try await connection.receive(endingWith: "POST /\(number) 2")
            #expect(answer.contains("Connection: keep-alive"))
        }
        connection.send("GET /first HTTP/1.1\r\nHost: a\r\n\r\n" + get)
        let answers = try await connection.receive()
        #expect(answers.contains("GET /first 0HTTP/1.1 200 OK") && answers.hasSuffix("GET /hello?x=1 0"))
    }

    @Test func answersHeadWithoutABody() async throws {
        let server = try echo()
        defer { server.close() }
        let answer = try await exchange("HEAD / HTTP/1.0\r\n\r\n", port: server.port)
        #expect(answer.contains("Content-Length: 8\r\n") && answer.hasSuffix("\r\n\r\n"))
    }

    @Test func refusesALargeBodySoThatTheSenderSeesIt() async throws {
        let server = try echo()
        defer { server.close() }
        let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n"
        let answer = try await exchange(head + String(repeating: "x", count: 100_000), port: server.port)
        #expect(answer.hasPrefix("HTTP/1.1 413 "))
        #expect(try await exchange(get, port: server.port).hasPrefix("HTTP/1.1 200 "))
    }

    /// A browser sends the cookies of all ports of `localhost`, whichever program set them.
    @Test func takesTheCookiesOfADevelopersBrowser() async throws {
        let server = try echo()
        defer { server.close() }
        let connection = try RawConnection(port: server.port)
        for number in 0..<20 {
            let cookies = String(repeating: "name=value; ", count: 2700)
            connection.send("GET /\(number) HTTP/1.1\r\nHost: a\r\nCookie: \(cookies)\r\n\r\n")
            let answer = try await connection.receive(endingWith: "GET /\(number) 0")
            #expect(answer.hasPrefix("HTTP/1.1 200 "))
        }
    }

    @Test func refusesWhatItCannotReadInTheGivenWay() async throws {
        var limits = LoopbackServer.Limits()
        limits.requestDeadline = .milliseconds(300)
        let server = try LoopbackServer.start(
            limits: limits,
            refuse: { LoopbackResponse(status: $0, text: "<h1>\($0)</h1>", type: "text/html") },
            respond: { _ in LoopbackResponse(status: 200) }
        )
        defer { server.close() }
        let long = String(repeating: "x", count: 9000)
        let cases = [
            (get.replacing("x=1", with: long), 414),
            (get.replacing("Host", with: "Cookie: \(String(repeating: "x", count: 70_000))\r\nHost"), 431),
            (get.replacing("Host", with: (0..<9000).map { "X\($0): y\r\n" }.joined() + "Host"), 431),
            ("nothing\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHo", 408),
        ]
        for (request, status) in cases {
            let answer = try await exchange(request, port: server.port)
            #expect(answer.hasPrefix("HTTP/1.1 \(status) ") && answer.hasSuffix("\r\n\r\n<h1>\(status)</h1>"))
            #expect(answer.contains("Content-Type: text/html\r\n") && answer.contains("Connection: close\r\n"))
        }
        #expect(try await exchange(get, port: server.port).hasPrefix("HTTP/1.1 200 "))
    }

    @Test func endsSlowRequestsAndServesOthersMeanwhile() async throws {
        var limits = LoopbackServer.Limits()
        limits.requestDeadline = .milliseconds(300)
        let server = try echo(limits: limits)
        defer { server.close() }
        let started = ContinuousClock.now
        let silent = try RawConnection(port: server.port)
        let slow = try RawConnection(port: server.port)
        slow.send("GET / HTTP/1.1\r\nHo")
        #expect(try await exchange(get, port: server.port).hasPrefix("HTTP/1.1 200 "))
        #expect(try await slow.receive().hasPrefix("HTTP/1.1 408 "))
        #expect(try await silent.receive().isEmpty)
        #expect(ContinuousClock.now - started >= .milliseconds(290))
    }

    /// A browser waits for the answer to its ClientHello as long as the connection is open.
    @Test func closesAtOnceWhatBeginsWithTLS() async throws {
        let visits = Mutex(0)
        var limits = LoopbackServer.Limits()
        // The server would end another silent connection later than this test may take.
        limits.requestDeadline = .seconds(3600)
        let server = try LoopbackServer.start(
            limits: limits,
            onTLS: { visits.withLock { $0 += 1 } },
            respond: { _ in LoopbackResponse(status: 200) }
        )
        defer { server.close() }
        let browser = try RawConnection(port: server.port)
        browser.send([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xFC, 0x03, 0x03])
        #expect(try await browser.receive().isEmpty)
        #expect(visits.withLock { $0 } == 1)
        #expect(try await exchange(get, port: server.port).hasPrefix("HTTP/1.1 200 "))
        #expect(visits.withLock { $0 } == 1)
    }

    @Test func makesConnectionsBeyondTheLimitWait() async throws {
        var limits = LoopbackServer.Limits()
        limits.maximumConnections = 2
        limits.requestDeadline = .milliseconds(500)
        let server = try echo(limits: limits)
        defer { server.close() }
        // Before the deadlines of the two begin.
        let started = ContinuousClock.now
        let first = try RawConnection(port: server.port)
        let second = try RawConnection(port: server.port)
        #expect(try await exchange(get, port: server.port).hasPrefix("HTTP/1.1 200 "))
        #expect(ContinuousClock.now - started >= .milliseconds(490))
        #expect(try await first.receive().isEmpty)
        #expect(try await second.receive().isEmpty)
    }

    @Test func namesThePortThatIsInUse() throws {
        let server = try echo(hosts: [.ipv4, .ipv6])
        defer { server.close() }
        for host in server.hosts {
            #expect(throws: LoopbackServerError.portInUse(server.port)) { try echo(hosts: [host], port: server.port) }
        }
    }

    @Test func freesThePortAndEndsConnectionsWhenClosed() async throws {
        var shortest = Duration.seconds(60)
        // The best of several attempts, because other tests may occupy the processor.
        for _ in 0..<5 {
            let server = try echo(hosts: [.ipv4, .ipv6])
            let kept = try RawConnection(port: server.port)
            kept.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try await kept.receive(endingWith: "GET / 0")
            let started = ContinuousClock.now
            server.close()
            #expect(throws: RawConnection.Failure.self) { try RawConnection(port: server.port) }
            #expect(try await kept.receive().isEmpty)
            #expect(try await eventually { (try? echo(hosts: [.ipv4, .ipv6], port: server.port)) != nil })
            shortest = min(shortest, ContinuousClock.now - started)
        }
        #expect(shortest < .milliseconds(100))
    }

    @Test func freesThePortWhenDropped() async throws {
        let port = try echo().port
        #expect(try await eventually { (try? RawConnection(port: port)) == nil })
    }

    @Test func cancelsAnswersInTheMakingWhenClosed() async throws {
        let (events, continuation) = AsyncStream.makeStream(of: String.self)
        let server = try LoopbackServer.start { _ in
            continuation.yield("asked")
            do {
                try await Task.sleep(for: .seconds(3600))
            } catch {
                continuation.yield("cancelled")
            }
            return LoopbackResponse(status: 200)
        }
        let connection = try RawConnection(port: server.port)
        connection.send(get)
        var iterator = events.makeAsyncIterator()
        #expect(await iterator.next() == "asked")
        // These bytes are still unread when the server closes, and the connection must not be reset.
        connection.send("more")
        server.close()
        #expect(await iterator.next() == "cancelled")
        #expect(try await connection.receive().isEmpty)
    }
}
