// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LoopbackHTTP

@Suite struct RequestParserTests {
    private let parser: RequestParser = {
        var limits = LoopbackServer.Limits()
        limits.maximumRequestLineLength = 64
        limits.maximumHeadLength = 256
        limits.maximumBodyLength = 100
        return RequestParser(limits)
    }()

    private func parse(_ bytes: [UInt8]) -> RequestParser.Step {
        var progress = RequestParser.Progress()
        return parser.parse(bytes, &progress)
    }

    private func status(_ text: String) -> Int? {
        guard case .refused(let status) = parse(Array(text.utf8)) else { return nil }
        return status
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\n\r\n", 400),  // RFC 9112 §3.2: no Host
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 400),
        ("GET /\r\nHost: a\r\n\r\n", 400),
        ("G@T / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /ä HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
        ("GET / FTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n 2\r\n\r\n", 400),  // §5.2: folded
        ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),  // §5.1: space before the colon
        ("GET / HTTP/1.1\r\nHost: a\nX: 1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\rX: 1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\0\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nnothing\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),  // §6.3
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 101\r\n\r\n", 413),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n", 413),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nExpect: a miracle\r\n\r\n", 417),
        ("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n", 417),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", 400),
        ("GET /" + String(repeating: "a", count: 59), 414),
        ("\r\nGET /" + String(repeating: "a", count: 59), 414),
        ("GET /" + String(repeating: "a", count: 49) + " HTTP/1.1\r\nHost: a\r\n\r\n", 414),
        ("GET / HTTP/1.1\r\nHost: " + String(repeating: "a", count: 234), 431),
        ("GET / HTTP/1.1\r\nHost: " + String(repeating: "a", count: 231) + "\r\n\r\n", 431),
    ])
    func refuses(_ text: String, _ expected: Int) {
        #expect(status(text) == expected)
    }

    @Test(arguments: [
        "GET /" + String(repeating: "a", count: 58),
        "GET /" + String(repeating: "a", count: 48) + " HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: " + String(repeating: "a", count: 233),
        "GET / HTTP/1.1\r\nHost: " + String(repeating: "a", count: 230) + "\r\n\r\n",
    ])
    func takesWhatIsJustShortEnough(_ text: String) {
        #expect(status(text) == nil)
    }

    /// The parser keeps its progress. Otherwise a client that sends single bytes would occupy the thread that serves the
    /// browser.
    @Test(.timeLimit(.minutes(1))) func looksAtNoByteAgainForEachThatFollows() {
        let parser = RequestParser(LoopbackServer.Limits())
        let head = "POST /\(String(repeating: "a", count: 8000)) HTTP/1.1\r\nHost: a\r\nContent-Length: 65536\r\n"
        let lines = Array(head.utf8) + Array("Cookie: ".utf8) + Array(repeating: 0x61, count: 57_000)
        let bytes = lines + Array("\r\n\r\n".utf8) + Array(repeating: 0x62, count: 65_536)
        var progress = RequestParser.Progress()
        var input: [UInt8] = []
        for byte in bytes.dropLast() {
            input.append(byte)
            guard case .incomplete = parser.parse(input, &progress) else {
                Issue.record("not incomplete after \(input.count) bytes")
                return
            }
        }
        guard case .complete(let request, let length, _) = parser.parse(bytes, &progress) else {
            Issue.record("not complete")
            return
        }
        #expect(length == bytes.count && request.body.count == 65_536)
        #expect(request.headers["Cookie"]?.utf8.count == 57_000)
    }

    @Test func isTheSameHoweverTheBytesArrive() throws {
        let bytes = Array(
            "\r\nPOST /a/b?c=d?e HTTP/1.1\r\nhOST: a\r\nX:\t1 \r\nx: 2\r\ncontent-length: 3\r\n\r\nabc".utf8
        )
        var progress = RequestParser.Progress()
        for count in 0..<bytes.count {
            let arrived = Array(bytes[..<count])
            guard case .incomplete = parse(arrived),
                case .incomplete = parser.parse(arrived, &progress)
            else {
                Issue.record("not incomplete after \(count) bytes")
                return
            }
        }
        let more = bytes + Array("GET".utf8)
        guard case .complete(let request, let length, let keepsAlive) = parser.parse(more, &progress),
            case .complete(let again, length, keepsAlive) = parse(more)
        else {
            Issue.record("not complete")
            return
        }
        #expect(length == bytes.count && keepsAlive && again.headers == request.headers && again.body == request.body)
        #expect(request.method == "POST" && request.target == "/a/b?c=d?e")
        #expect(request.path == "/a/b" && request.query == "c=d?e")
        #expect(request.headers["HOST"] == "a" && request.headers.values(of: "x") == ["1", "2"])
        #expect(request.body == Array("abc".utf8))
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", true),
        ("GET / HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n", false),
        ("GET / HTTP/1.0\r\n\r\n", false),
        ("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", true),
    ])
    func keepsTheConnectionByVersionAndWish(_ text: String, _ expected: Bool) {
        guard case .complete(_, _, let keepsAlive) = parse(Array(text.utf8)) else {
            Issue.record("not complete")
            return
        }
        #expect(keepsAlive == expected)
    }

    @Test func describesNoSecrets() {
        let request = LoopbackRequest(method: "GET", target: "/back?code=secret", headers: ["Cookie": "secret"])
        var dumped = ""
        dump(request, to: &dumped)
        #expect(!dumped.contains("secret") && !"\(request)".contains("secret"))
    }
}
