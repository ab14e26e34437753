// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LoopbackHTTP

@Suite struct BodyFramingTests {
    /// The body in pieces of `size` bytes, and the number of bytes up to its end; `nil` if it has none yet.
    private func read(
        _ text: String,
        _ length: BodyLength = .chunked,
        size: Int = .max
    ) throws(MessageProblem) -> (body: String, end: Int?) {
        let bytes = Array(text.utf8)
        var framing = BodyFraming(length)
        var (body, index) = ([UInt8](), 0)
        while !framing.isComplete, index < bytes.count {
            let part = Array(bytes[index..<min(bytes.count, index + min(size, bytes.count))])
            let piece = try framing.next(in: part.span)
            body += part[piece.content]
            index += piece.end
        }
        return (String(decoding: body, as: UTF8.self), framing.isComplete ? index : nil)
    }

    @Test(
        arguments: [
            ("5\r\nhello\r\n0\r\n\r\n", "hello"),
            ("5\r\nhello\r\n006\r\n world\r\n0\r\n\r\n", "hello world"),
            ("A;name=\"value\"\r\n0123456789\r\n0 ;x\r\n\r\n", "0123456789"),
            ("0\r\nX-Trailer: 1\r\nY:\r\n\r\n", ""),
            ("00000000\r\n\r\n", ""),
        ]
    )
    func findsTheEndHoweverTheBytesArrive(_ text: String, _ body: String) throws {
        for size in [1, 2, 3, 7, 1000] {
            let found = try read(text + "GET /", size: size)
            #expect(found.body == body && found.end == text.utf8.count, "in pieces of \(size)")
        }
    }

    @Test(arguments: [
        "0x1\r\nX\r\n0\r\n\r\n", "1;a\nX\r\n0\r\n\r\n", "1\nX\r\n0\r\n\r\n", "000000001\r\nX\r\n0\r\n\r\n", "\r\n",
        "-1\r\n", "+1\r\n",
        " 1\r\nX", "1 \r\nX", "1 2\r\nX", "1;\(String(repeating: "a", count: 257))\r\n", "1\rX", "1\r\nXY",
        "1\r\nX\n0\r\n\r\n",
        "1\r\nX\r0", "1;a\u{0}\r\n", "g\r\n", "0\r\nX\r\n\r\n", "0\r\n X: 1\r\n\r\n", "0\r\nX: 1\n\r\n", "0\r\n\n",
        "0\r\nX: \u{0}\r\n",
        "0\r\nGET / HTTP/1.1\r\n", "0\r\nX: \(String(repeating: "a", count: 9000))\r\n\r\n",
    ])
    func refuses(_ text: String) {
        #expect(throws: MessageProblem.malformed) { try read(text) }
        #expect(throws: MessageProblem.malformed, "byte by byte") { try read(text, size: 1) }
    }

    @Test func countsAndWaits() throws {
        #expect(try read("hello rest", .bytes(5)) == ("hello", 5))
        #expect(try read("hell", .bytes(5)).end == nil)
        #expect(try read("x", .bytes(0)) == ("", 0))
        #expect(try read("anything", .untilClose) == ("anything", nil))
        #expect(BodyFraming(.untilClose).endsWithConnection && !BodyFraming(.chunked).endsWithConnection)
        #expect(try read("ffffffff\r\nabc") == ("abc", nil))
    }
}
