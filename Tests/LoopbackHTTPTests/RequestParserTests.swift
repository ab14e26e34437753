// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LoopbackHTTP

@Suite struct RequestParserTests {
    private let parser = RequestParser(maximumHeadLength: 256, maximumBodyLength: 100)

    private func status(_ text: String) -> Int? {
        guard case .refused(let status) = parser.parse(Array(text.utf8)) else { return nil }
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
        ("GET /" + String(repeating: "a", count: 252), 431),
        ("GET / HTTP/1.1\r\nHost: " + String(repeating: "a", count: 256) + "\r\n\r\n", 431),
    ])
    func refuses(_ text: String, _ expected: Int) {
        #expect(status(text) == expected)
    }

    @Test func isTheSameHoweverTheBytesArrive() throws {
        let bytes = Array(
            "\r\nPOST /a/b?c=d?e HTTP/1.1\r\nhOST: a\r\nX:\t1 \r\nx: 2\r\ncontent-length: 3\r\n\r\nabc".utf8
        )
        for count in 0..<bytes.count {
            guard case .incomplete(expectsContinue: false) = parser.parse(Array(bytes[..<count])) else {
                Issue.record("not incomplete after \(count) bytes")
                return
            }
        }
        guard case .complete(let request, let length, let keepsAlive) = parser.parse(bytes + Array("GET".utf8)) else {
            Issue.record("not complete")
            return
        }
        #expect(length == bytes.count && keepsAlive)
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
        guard case .complete(_, _, let keepsAlive) = parser.parse(Array(text.utf8)) else {
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
