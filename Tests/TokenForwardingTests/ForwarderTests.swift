// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityTestSupport
import LoopbackHTTP
import SystemSupport
import Testing

@testable import TokenForwarding

@Suite(.timeLimit(.minutes(1))) struct ForwarderTests {
    private let hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

    // MARK: Connections

    @Test func sendsTheTokenAndKeepsBothConnections() async throws {
        let upstream = try Upstream { [hello] _ in hello }
        let forwarder = try RunningForwarder(to: "127.0.0.1:\(upstream.port)")
        let client = try forwarder.connect()
        for number in 0..<50 {
            client.send(forwarder.head("GET /\(number)?secret"))
            #expect(try await client.receive(endingWith: "hello") == hello)
        }
        #expect(upstream.heads.count == 50 && upstream.connections == 1)
        #expect(
            upstream.heads[7]
                == "GET /7?secret HTTP/1.1\r\nHost: 127.0.0.1:\(upstream.port)\r\nAuthorization: Bearer T1"
        )
        #expect(try await eventually { forwarder.notes.count == 50 })
        let note = forwarder.notes[7]
        #expect(
            note.path == "/7" && note.method == "GET" && note.status == 200 && note.received == 5
                && note.route == "work"
        )
    }

    @Test func servesPipelinedRequestsInOrder() async throws {
        let upstream = try Upstream { head in
            let path = head.split(separator: " ")[1]
            return "HTTP/1.1 200 OK\r\nContent-Length: \(path.utf8.count)\r\n\r\n\(path)"
        }
        let forwarder = try RunningForwarder(to: "127.0.0.1:\(upstream.port)")
        let client = try forwarder.connect()
        client.send(
            forwarder.head("POST /1", "Content-Length: 3\r\n") + "abc" + forwarder.head("GET /2")
                + forwarder.head("GET /end", "Connection: close\r\n")
        )
        let answers = try await client.receive()
        #expect(answers.components(of: "HTTP/1.1 200 OK") == 3 && answers.hasSuffix("Connection: close\r\n\r\n/end"))
        let places = ["/1", "/2", "/end"].compactMap { answers.firstRange(of: $0)?.lowerBound }
        #expect(places.count == 3 && places == places.sorted())
    }

    @Test func servesASocketOfTheFileSystemWithoutAPhantom() async throws {
        let upstream = try Upstream { [hello] _ in hello }
        let forwarder = try AtASocket(to: "127.0.0.1:\(upstream.port)")
        let client = try forwarder.connect()
        client.send("GET / HTTP/1.1\r\nHost: localhost\r\nx-api-key: other\r\n\r\n")
        #expect(client.read(through: "hello") == hello)
        #expect(upstream.heads.first?.contains("other") == false)
    }

    @Test func letsTheNextClientWaitUntilOneLeaves() async throws {
        let upstream = try Upstream { [hello] _ in hello }
        var limits = ForwardingLimits()
        limits.clients = 2
        let forwarder = try RunningForwarder(to: "127.0.0.1:\(upstream.port)", limits: limits)
        var first: RawConnection? = try forwarder.connect()
        first?.send(forwarder.head("GET /1"))
        #expect(try await first?.receive(endingWith: "hello") == hello)
        let second = try forwarder.connect()
        second.send(forwarder.head("GET /2"))
        #expect(try await second.receive(endingWith: "hello") == hello)
        let third = try forwarder.connect()
        third.send(forwarder.head("GET /3"))
        #expect(forwarder.forwarder.clients == 2 && upstream.heads.count == 2)
        first = nil
        #expect(try await third.receive(endingWith: "hello") == hello)
    }

    @Test func endsEverythingWhenItStops() async throws {
        let upstream = try Upstream { (connection: Upstream.Connection) in _ = connection.isEnded() }
        let forwarder = try RunningForwarder(to: "127.0.0.1:\(upstream.port)")
        let (idle, busy) = (try forwarder.connect(), try forwarder.connect())
        busy.send(forwarder.head("GET /"))
        #expect(try await eventually { forwarder.forwarder.clients == 2 && upstream.connections == 1 })
        forwarder.forwarder.stop()
        #expect(try await idle.receive() == "")
        await #expect(throws: (any Error).self) { if try await busy.receive() == "" { throw CancellationError() } }
        #expect(try await eventually { forwarder.forwarder.clients == 0 })
        #expect(throws: RawConnection.Failure.self) { try forwarder.connect() }
    }

    /// systemd starts another forwarder at the same sockets, and waits for an end of this one without clients.
    @Test func leavesItsSocketsToAnother() async throws {
        let upstream = try Upstream { [hello] _ in hello }
        let forwarder = try RunningForwarder(to: "127.0.0.1:\(upstream.port)")
        let begun = try #require(forwarder.forwarder.idleSince)
        var client: RawConnection? = try forwarder.connect()
        #expect(try await eventually { forwarder.forwarder.idleSince == nil })
        client?.send("GET")
        client = nil
        #expect(try await eventually { forwarder.forwarder.idleSince ?? begun > begun })
        forwarder.forwarder.stop(leavesSockets: true)
        let waiting = try forwarder.connect()
        #expect(forwarder.forwarder.clients == 0)
        withExtendedLifetime((client, waiting)) {}
    }

    @Test func endsAClientThatSendsNoHead() async throws {
        var limits = ForwardingLimits()
        limits.idle = .milliseconds(200)
        limits.head = .milliseconds(200)
        let forwarder = try RunningForwarder(to: "127.0.0.1:1", limits: limits)
        let (silent, slow) = (try forwarder.connect(), try forwarder.connect())
        slow.send("GET / HTTP/1.1\r\nHo")
        #expect(try await silent.receive() == "")
        #expect(try await slow.receive() == "")
    }

    // MARK: What is refused

    /// Requests that other software reads in another way, or that only a browser or an attacker sends.
    @Test func passesNoRequestThatCouldBeReadInTwoWays() async throws {
        let upstream = try Upstream { [hello] _ in hello }
        var limits = ForwardingLimits()
        limits.wrongPhantom = .zero
        let forwarder = try RunningForwarder(to: "127.0.0.1:\(upstream.port)", limits: limits)
        let host = "Host: 127.0.0.1:\(forwarder.port)\r\nx-api-key: \(phantom)\r\n"
        let cases: [(String, Int)] = [
            ("POST /a HTTP/1.1\r\n\(host)Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nX", 400),
            ("POST /a HTTP/1.1\r\n\(host)Content-Length: 1\r\nContent-Length: 2\r\n\r\nXY", 400),
            ("POST /a HTTP/1.1\r\n\(host)Content-Length: 2, 2\r\n\r\nXY", 400),
            ("POST /a HTTP/1.1\r\n\(host)Content-Length: +2\r\n\r\nXY", 400),
            ("POST /a HTTP/1.1\r\n\(host)Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501),
            ("POST /a HTTP/1.1\r\n\(host)Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", 501),
            ("POST /a HTTP/1.0\r\n\(host)Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
            ("GET /a HTTP/1.1\r\nx-api-key: \(phantom)\r\n\r\n", 400),
            ("GET /a HTTP/1.1\r\n\(host)Host: b\r\n\r\n", 400),
            ("GET /a HTTP/1.1\r\nHost: evil.example\r\nx-api-key: \(phantom)\r\n\r\n", 421),
            ("GET http://evil.example/a HTTP/1.1\r\n\(host)\r\n", 400),
            ("CONNECT evil.example:443 HTTP/1.1\r\n\(host)\r\n", 405),
            ("GET /a HTTP/1.1\r\n\(host)X-A : 1\r\n\r\n", 400),
            ("GET /a HTTP/1.1\r\n\(host)X-A: 1\r\n 2\r\n\r\n", 400),
            ("GET /a HTTP/1.1\nHost: 127.0.0.1:\(forwarder.port)\n\n", 400),
            ("GET /a HTTP/1.1\r\n\(host)X-A: 1\r2\r\n\r\n", 400),
            ("GET /a HTTP/1.1\r\n\(host)X-A: 1\u{0}2\r\n\r\n", 400),
            ("GET /allowed/../secret HTTP/1.1\r\n\(host)\r\n", 400),
            ("GET /allowed/%2e%2e/secret HTTP/1.1\r\n\(host)\r\n", 400),
            ("GET /allowed/..%2fsecret HTTP/1.1\r\n\(host)\r\n", 400),
            ("GET /allowed\\..\\secret HTTP/1.1\r\n\(host)\r\n", 400),
            ("GET //evil.example/a HTTP/1.1\r\n\(host)\r\n", 400),
            ("GET @evil.example/a HTTP/1.1\r\n\(host)\r\n", 400),
            ("GET /a#/b HTTP/1.1\r\n\(host)\r\n", 400),
            ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
            ("TRACE /a HTTP/1.1\r\n\(host)\r\n", 405),
            ("GET /a HTTP/1.1\r\n\(host)Origin: http://evil.example\r\nSec-Fetch-Site: cross-site\r\n\r\n", 403),
            ("GET /a HTTP/1.1\r\n\(host)Expect: a miracle\r\n\r\n", 417),
            ("GET /a HTTP/1.1\r\nHost: 127.0.0.1:\(forwarder.port)\r\n\r\n", 401),
            ("GET /a HTTP/1.1\r\nHost: 127.0.0.1:\(forwarder.port)\r\nx-api-key: fwd_other\r\n\r\n", 401),
            ("\u{16}\u{3}\u{1}\u{0}\u{5}hello", 400),
            ("GET /a HTTP/1.1\r\n\(host)X-A: \(String(repeating: "a", count: 100_000))\r\n\r\n", 431),
            ("GET /\(String(repeating: "a", count: 20_000)) HTTP/1.1\r\n\(host)\r\n", 414),
            ("GET /a http/1.1\r\n\(host)\r\n", 400),
        ]
        for (request, status) in cases {
            // What follows in the same connection is not read either.
            let answer = try await exchange(request + forwarder.head("GET /smuggled"), port: forwarder.port)
            #expect(answer.hasPrefix("HTTP/1.1 \(status) ") && answer.contains("Connection: close\r\n"), "\(request)")
            #expect(answer.components(of: "HTTP/1.1") == 1 && !answer.contains(phantom), "\(request)")
        }
        #expect(upstream.heads.isEmpty && forwarder.desk.wishes.value.isEmpty)
    }

    /// A bad chunk is seen when the head is on its way already: the client gets a refusal, and the server no end of a body.
    @Test(arguments: [
        "1;a\nX\r\n0\r\n\r\n", "0x1\r\nX\r\n0\r\n\r\n", "1\r\nXY\r\n0\r\n\r\n", "0\r\nGET / HTTP/1.1\r\n\r\n",
    ])
    func endsARequestWithABadChunk(_ body: String) async throws {
        let rest = Box<String?>(nil)
        let upstream = try Upstream { (connection: Upstream.Connection) in
            _ = connection.readHead()
            rest.change { $0 = connection.read(through: "0\r\n\r\n") ?? "none" }
        }
        let forwarder = try RunningForwarder(to: "127.0.0.1:\(upstream.port)")
        let client = try forwarder.connect()
        client.send(forwarder.head("POST /", "Transfer-Encoding: chunked\r\n") + body)
        #expect(try await client.receive().hasPrefix("HTTP/1.1 400 "))
        if upstream.connections > 0 { #expect(try await eventually { rest.value == "none" }) }
    }

    /// Root alone can try this: a program of another user has the right phantom.
    @Test(.enabled(if: geteuid() == 0 && SystemCall.exists("/usr/bin/setpriv")))
    func refusesAnotherUserWithTheRightPhantom() async throws {
        let upstream = try Upstream { [hello] _ in hello }
        for access in [ForwardingRoute.Access.both, .user, .phantom] {
            let forwarder = try RunningForwarder(to: "127.0.0.1:\(upstream.port)") { $0.access = access }
            let request = forwarder.head("GET /", "Connection: close\r\n").replacing("\r\n", with: "\\r\\n")
            let shell = "exec 3<>/dev/tcp/127.0.0.1/\(forwarder.port); printf '\(request)' >&3; cat <&3"
            let client = Process()
            client.executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
            client.arguments = ["--reuid=65534", "--clear-groups", "--", "/bin/bash", "-c", shell]
            client.standardError = FileHandle.nullDevice
            let output = try PrivatePipe()
            client.standardOutput = output.writing
            try client.run()
            try output.writing.close()
            let answer = String(decoding: output.reading.readDataToEndOfFile(), as: UTF8.self)
            client.waitUntilExit()
            // The phantom alone, where the route says so.
            #expect(answer.hasSuffix("hello") == (access == .phantom))
        }
        #expect(upstream.heads.count == 1)
    }

    @Test func saysThatAServerCannotBeReached() async throws {
        let forwarder = try RunningForwarder(to: "127.0.0.1:1")
        let answer = try await exchange(forwarder.head("GET /"), port: forwarder.port)
        #expect(answer.hasPrefix("HTTP/1.1 502 upstream-unreachable\r\n"))
        #expect(try await eventually { forwarder.notes.first?.problem?.code == .upstreamUnreachable })
        #expect(forwarder.notes.first?.problem?.status == 502)
    }

    @Test func passesTheDesksWords() async throws {
        let desk = NumberedDesk { (_, _) throws(ForwardingProblem) in
            throw ForwardingProblem(.signInNeeded, "run: identityctl login")
        }
        let forwarder = try RunningForwarder(to: "127.0.0.1:1", desk: desk)
        let answer = try await exchange(forwarder.head("POST /", "Content-Length: 3\r\n") + "abc", port: forwarder.port)
        #expect(answer.hasPrefix("HTTP/1.1 403 sign-in-needed\r\n") && answer.contains("run: identityctl login"))
    }

    // MARK: Bodies

    /// A body in chunks both ways at once, of which the server sends back each piece before it takes the next.
    @Test func streamsBothWaysAtOnce() async throws {
        let upstream = try Upstream { (connection: Upstream.Connection) in
            _ = connection.readHead()
            connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while let size = connection.read(through: "\r\n"), size != "0\r\n",
                let piece = connection.read(through: "\r\n")
            {
                connection.send("\(size)\(piece)")
            }
            connection.send("0\r\n\r\n")
            _ = connection.isEnded()
        }
        let forwarder = try RunningForwarder(to: "127.0.0.1:\(upstream.port)")
        let client = try forwarder.connect()
        client.send(forwarder.head("POST /", "Transfer-Encoding: chunked\r\n"))
        #expect(try await client.receive(endingWith: "\r\n\r\n").contains("Transfer-Encoding: chunked\r\n"))
        for number in 100..<150 {
            client.send("3;extension\r\n\(number)\r\n")
            #expect(try await client.receive(endingWith: "\(number)\r\n") == "3\r\n\(number)\r\n")
        }
        client.send("0\r\nX-Trailer: 1\r\n\r\n")
        #expect(try await client.receive(endingWith: "0\r\n\r\n") == "0\r\n\r\n")
    }

    /// Each event leaves when it has come: the server sends the next one only when the client has this one.
    @Test(arguments: [true, false]) func passesEachEventAtOnce(isChunked: Bool) async throws {
        let seen = Box(0)
        let upstream = try Upstream { (connection: Upstream.Connection) in
            _ = connection.readHead()
            let coding = isChunked ? "Transfer-Encoding: chunked\r\n" : ""
            connection.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\(coding)\r\n")
            for number in 0...20 {
                let deadline = ContinuousClock.now + .seconds(10)
                while seen.value < number, ContinuousClock.now < deadline { usleep(1000) }
                guard number < 20 else { break }
                connection.send(isChunked ? "9\r\ndata: \(number % 10)\n\n\r\n" : "data: \(number % 10)\n\n")
            }
            if isChunked { connection.send("0\r\n\r\n") }
        }
        let forwarder = try RunningForwarder(to: "127.0.0.1:\(upstream.port)")
        let client = try forwarder.connect()
        client.send(forwarder.head("GET /"))
        for number in 0..<20 {
            #expect(try await client.receive(endingWith: "data: \(number % 10)\n\n\r\n").contains("data: "))
            seen.change { $0 += 1 }
        }
        #expect(try await client.receive(endingWith: "0\r\n\r\n") == "0\r\n\r\n")
    }

    /// Much more than may be on its way goes through in each direction, while the process stays as big as it was.
    @Test func takesLargeBodiesInConstantMemory() async throws {
        let (size, piece) = (128 << 20, [UInt8](repeating: 0x61, count: 1 << 16))
        let upstream = try Upstream { (connection: Upstream.Connection) in
            _ = connection.readHead()
            guard connection.discard(size) == size else { return }
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n")
            for _ in 0..<size / piece.count { connection.send(piece) }
            _ = connection.isEnded()
        }
        let notes = Box<[ForwardedExchange]>([])
        let socket = try AtASocket(to: "127.0.0.1:\(upstream.port)") { note in notes.change { $0.append(note) } }
        let client = try socket.connect()
        client.send("PUT / HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(size)\r\n\r\n")
        let before = try residentBytes()
        for _ in 0..<size / piece.count { client.send(piece) }
        #expect(client.readHead()?.hasPrefix("HTTP/1.1 200 OK\r\n") == true)
        #expect(client.discard(size) == size)
        #expect(try residentBytes() - before < 48 << 20)
        #expect(try await eventually { notes.value.first?.sent == size && notes.value.first?.received == size })
    }

    private func residentBytes() throws -> Int {
        guard let file = try Descriptor.file(at: "/proc/self/statm") else { return 0 }
        let words = String(decoding: try file.read(atMost: 1000), as: UTF8.self).split(separator: " ")
        return try #require(Int(words[1])) * 4096
    }

    @Test func answersAnExpectationItself() async throws {
        let upstream = try Upstream { [hello] _ in hello }
        let forwarder = try RunningForwarder(to: "127.0.0.1:\(upstream.port)")
        let client = try forwarder.connect()
        client.send(forwarder.head("PUT /", "Expect: 100-Continue\r\nContent-Length: 3\r\n"))
        #expect(try await client.receive(endingWith: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
        client.send("abc")
        #expect(try await client.receive(endingWith: "hello") == hello)
        #expect(upstream.heads[0].contains("Expect") == false)
        let refused = forwarder.head("PUT /", "Expect: 100-continue\r\nContent-Length: 3\r\nOrigin: a\r\n")
        #expect(try await exchange(refused, port: forwarder.port).hasPrefix("HTTP/1.1 403 "))
    }

    /// The client goes on with its body while the answer comes. It reads the whole answer, and no other request is taken.
    @Test func passesAnAnswerBeforeTheRequestHasEnded() async throws {
        let upstream = try Upstream { (connection: Upstream.Connection) in
            _ = connection.readHead()
            connection.send("HTTP/1.1 413 Too big\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig")
        }
        var limits = ForwardingLimits()
        limits.linger = .milliseconds(300)
        let forwarder = try RunningForwarder(to: "127.0.0.1:\(upstream.port)", limits: limits)
        let client = try forwarder.connect()
        client.send(forwarder.head("POST /", "Content-Length: 1000000000\r\n"))
        client.send([UInt8](repeating: 0x61, count: 1 << 20))
        let answer = try await client.receive()
        #expect(answer.hasPrefix("HTTP/1.1 413 Too big\r\n") && answer.hasSuffix("\r\n\r\nbig"))
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0x\r\n",
    ])
    func resetsTheClientOfAnAnswerThatWasCut(_ answer: String) async throws {
        let upstream = try Upstream { (connection: Upstream.Connection) in
            _ = connection.readHead()
            connection.send(answer)
        }
        let forwarder = try RunningForwarder(to: "127.0.0.1:\(upstream.port)")
        let client = try forwarder.connect()
        client.send(forwarder.head("GET /"))
        let failure = await #expect(throws: RawConnection.Failure.self) { try await client.receive() }
        #expect(failure?.errno == ECONNRESET)
    }

    @Test func dropsInterimAnswers() async throws {
        let upstream = try Upstream { [hello] _ in
            "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n\(hello)"
        }
        let forwarder = try RunningForwarder(to: "127.0.0.1:\(upstream.port)")
        let client = try forwarder.connect()
        client.send(forwarder.head("GET /"))
        #expect(try await client.receive(endingWith: "hello") == hello)
    }

    @Test(arguments: [
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", "nonsense\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "HTTP/1.1 200 OK\nX: 1\n\n",
    ])
    func refusesAnAnswerThatItCannotRead(_ answer: String) async throws {
        let upstream = try Upstream { _ in answer }
        let forwarder = try RunningForwarder(to: "127.0.0.1:\(upstream.port)")
        #expect(
            try await exchange(forwarder.head("GET /"), port: forwarder.port).hasPrefix(
                "HTTP/1.1 502 upstream-bad-answer"
            )
        )
    }

    /// So an inference stops that has no reader.
    @Test func endsTheServersConnectionWhenTheClientLeaves() async throws {
        let isEnded = Box(false)
        let upstream = try Upstream { (connection: Upstream.Connection) in
            _ = connection.readHead()
            isEnded.change { $0 = connection.isEnded() }
        }
        let forwarder = try RunningForwarder(to: "127.0.0.1:\(upstream.port)")
        var client: RawConnection? = try forwarder.connect()
        client?.send(forwarder.head("POST /", "Content-Length: 0\r\n"))
        #expect(try await eventually { upstream.connections == 1 })
        client = nil
        #expect(try await eventually { isEnded.value })
    }

    @Test func givesUpOnASlowServer() async throws {
        let upstream = try Upstream { (connection: Upstream.Connection) in _ = connection.isEnded() }
        var limits = ForwardingLimits()
        limits.answer = .milliseconds(200)
        let forwarder = try RunningForwarder(to: "127.0.0.1:\(upstream.port)", limits: limits)
        #expect(
            try await exchange(forwarder.head("GET /"), port: forwarder.port).hasPrefix("HTTP/1.1 504 upstream-slow")
        )
    }
}

extension String {
    fileprivate func components(of text: String) -> Int { ranges(of: text).count }
}
