// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LoopbackHTTP

@Suite struct HeadParserTests {
    private func parse(_ text: String, _ kind: HeadParser.Kind = .request) throws(MessageProblem) -> MessageHead? {
        var parser = HeadParser(kind)
        return try parser.parse(Array(text.utf8).span)?.head
    }

    private func problem(_ text: String, _ kind: HeadParser.Kind = .request) -> MessageProblem? {
        do {
            guard let head = try parse(text, kind) else { return nil }
            _ = try kind == .request ? head.requestLength() : head.answerLength(to: "GET")
            return nil
        } catch { return error }
    }

    @Test(
        arguments: [
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n", .malformed),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\nContent-Length: 6\r\n\r\n", .malformed),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", .malformed),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n", .malformed),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2, 2\r\n\r\n", .malformed),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +2\r\n\r\n", .malformed),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x2\r\n\r\n", .malformed),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n", .longBody),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n", .coding),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n", .coding),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \u{B}chunked\r\n\r\n", .malformed),
            (
                "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
                .coding
            ),
            ("POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", .malformed),
            ("GET / HTTP/1.1\r\n\r\n", .malformed),
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", .malformed),
            ("GET http://evil.example/ HTTP/1.1\r\nHost: a\r\n\r\n", .malformed),
            ("GET @evil.example/ HTTP/1.1\r\nHost: a\r\n\r\n", .malformed),
            ("CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example\r\n\r\n", .method),
            ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", .malformed),
            ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", .version),
            ("GET / http/1.1\r\nHost: a\r\n\r\n", .malformed),
            ("GET / HTTP/1.1\r\nHost: a\r\nX : 1\r\n\r\n", .malformed),
            ("GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n 2\r\n\r\n", .malformed),
            ("GET / HTTP/1.1\r\n Host: a\r\n\r\n", .malformed),
            ("GET / HTTP/1.1\nHost: a\n\n", .malformed),
            ("GET / HTTP/1.1\r\nHost: a\r\nX: 1\r2\r\n\r\n", .malformed),
            ("GET / HTTP/1.1\r\nHost: a\r\nX: 1\u{0}2\r\n\r\n", .malformed),
            ("GET / HTTP/1.1\r\nHost: a\r\nX: 1\u{7F}\r\n\r\n", .malformed),
            ("GET / HTTP/1.1\r\nHost: a\r\n: 1\r\n\r\n", .malformed),
            ("GET /\u{E4} HTTP/1.1\r\nHost: a\r\n\r\n", .malformed),
            ("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", .malformed),
            ("\u{16}\u{3}\u{1}\u{0}\u{5}hello", .malformed),
            ("GET /" + String(repeating: "a", count: 16 * 1024), .longTarget),
            ("GET / HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "a", count: 100_000), .longHead),
            ("GET / HTTP/1.1\r\nHost: a\r\n" + String(repeating: "X: 1\r\n", count: 100), .longHead),
        ] as [(String, MessageProblem)]
    )
    func refusesARequest(_ text: String, _ expected: MessageProblem) {
        #expect(problem(text) == expected)
    }

    /// So that such a sender does not wait for the time-out.
    @Test(arguments: ["GET / HTTP/1.1\n", "GET / HTTP/1.1\r\nHost: a\r\nX: 1\rY", "\u{16}"])
    func refusesBeforeTheHeadIsWhole(_ text: String) {
        #expect(problem(text) == .malformed)
    }

    @Test(
        arguments: [
            ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", .malformed),
            ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", .malformed),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", .coding),
            ("HTTP/2 200\r\n\r\n", .version),
            ("ICY 200 OK\r\n\r\n", .version),
            ("HTTP/1.1 20 OK\r\n\r\n", .malformed),
            ("HTTP/1.1 2000\r\n\r\n", .malformed),
            ("HTTP/1.1 099 No\r\n\r\n", .malformed),
            ("\r\nHTTP/1.1 200 OK\r\n\r\n", .malformed),
            ("HTTP/1.1 200 OK\nContent-Length: 0\n\n", .malformed),
        ] as [(String, MessageProblem)]
    )
    func refusesAnAnswer(_ text: String, _ expected: MessageProblem) {
        #expect(problem(text, .answer) == expected)
    }

    @Test(
        arguments: [
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "GET", .bytes(5)),
            ("HTTP/1.1 200\r\nContent-Length: 5\r\n\r\n", "GET", .bytes(5)),
            ("HTTP/1.1 200 \r\ntransfer-encoding: Chunked\r\n\r\n", "GET", .chunked),
            ("HTTP/1.1 200 OK\r\n\r\n", "GET", .untilClose),
            ("HTTP/1.0 200 OK\r\n\r\n", "POST", .untilClose),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "HEAD", .bytes(0)),
            ("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", "GET", .bytes(0)),
            ("HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n", "GET", .bytes(0)),
            ("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", "GET", .bytes(0)),
        ] as [(String, String, BodyLength)]
    )
    func knowsWhereAnAnswerEnds(_ text: String, _ method: String, _ expected: BodyLength) throws {
        let head = try #require(try parse(text, .answer))
        #expect(try head.answerLength(to: method) == expected)
    }

    @Test func keepsTheBytesOfAValue() throws {
        let bytes =
            Array("HTTP/1.1 200 \u{E4}\r\nX-A:\t".utf8) + [0xE4, 0x20, 0xFF]
            + Array(" \t\r\nConnection: a,\tB ,c\r\n\r\nrest".utf8)
        var parser = HeadParser(.answer)
        let (head, length) = try #require(try parser.parse(bytes.span))
        #expect(length == bytes.count - 4)
        #expect(Array(head.bytes[head.fields[0].value]) == [0xE4, 0x20, 0xFF])
        #expect(head.fields.map(\.name) == ["x-a", "connection"] && head.text(head.fields[0].written) == "X-A")
        #expect(head.words(of: "connection") == ["a", "b", "c"])
    }

    @Test func isTheSameHoweverTheBytesArrive() throws {
        let bytes = Array("\r\nPUT /a?b HTTP/1.1\r\nhOST: a\r\nX:\t1 \r\nTransfer-Encoding: chunked\r\n\r\n0\r\n".utf8)
        var parser = HeadParser(.request)
        for count in 0..<bytes.count - 3 {
            #expect(try parser.parse(bytes.span.extracting(0..<count)) == nil, "\(count) bytes")
        }
        let (head, length) = try #require(try parser.parse(bytes.span))
        #expect(length == bytes.count - 3 && head.start == .request(method: "PUT", target: "/a?b"))
        #expect(head.values(of: "host") == ["a"] && head.values(of: "x") == ["1"])
        #expect(try head.requestLength() == .chunked)
    }
}
