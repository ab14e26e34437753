// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import LoopbackHTTP

@testable import TokenForwarding

extension Reading {
    private static let phantom = "fwd_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGH"
    private static let rules = ForwardingRules(
        ForwardingRoute(name: "r", authority: "api.example.com", phantom: phantom, access: .user),
        at: .socket
    )

    /// A request or an answer on its way through the forwarder. Bit 0 of the first byte chooses; the others say in what pieces
    /// the rest arrives.
    static func forwardedMessage(_ bytes: [UInt8]) {
        guard let first = bytes.first else { return }
        let (kind, size) = (first & 1 == 0 ? HeadParser.Kind.request : .answer, Int(first >> 1) + 1)
        let message = Array(bytes.dropFirst())
        let (whole, inPieces) = (head(of: message, kind, size: message.count), head(of: message, kind, size: size))
        precondition(whole?.length == inPieces?.length, "another end of the head in pieces")
        guard let (head, end) = whole else { return }
        precondition(message[..<end].suffix(4) == Array("\r\n\r\n".utf8)[...], "a head that ends elsewhere")
        precondition(!head.bytes.contains(0), "a zero in a head")
        guard let length = kind == .request ? try? head.requestLength() : try? head.answerLength(to: "GET") else {
            return
        }
        body(Array(message[end...]), length, size: size)
        if kind == .request { forwarded(head, length) } else { answered(head) }
    }

    private static func head(
        of message: [UInt8],
        _ kind: HeadParser.Kind,
        size: Int
    ) -> (head: MessageHead, length: Int)? {
        var parser = HeadParser(kind)
        var count = 0
        while count < message.count {
            count = min(message.count, count + max(1, size))
            do {
                if let found = try parser.parse(message.span.extracting(0..<count)) { return found }
            } catch { return nil }
        }
        return nil
    }

    /// The body as a whole and in pieces; and what a server reads of its chunks when they are made anew.
    private static func body(_ bytes: [UInt8], _ length: BodyLength, size: Int) {
        guard let whole = read(bytes, length, size: bytes.count) else {
            return precondition(read(bytes, length, size: size) == nil, "pieces are taken that the whole is not")
        }
        guard let inPieces = read(bytes, length, size: size) else { preconditionFailure("pieces are refused") }
        precondition(whole == inPieces, "another body in pieces")
        guard length == .chunked, let end = whole.end else { return }
        precondition(plainly(bytes[..<end]) == whole.content, "a plain reader finds another body")
        var again = whole.content.isEmpty ? [] : Array("\(String(whole.content.count, radix: 16))\r\n".utf8)
        again += whole.content.isEmpty ? [] : whole.content + Array("\r\n".utf8)
        again += Array("0\r\n\r\n".utf8)
        let remade = read(again, .chunked, size: size)
        precondition(remade?.content == whole.content && remade?.end == again.count, "other chunks have another body")
    }

    private struct Body: Equatable {
        var content: [UInt8] = []
        var end: Int?
    }

    private static func read(_ bytes: [UInt8], _ length: BodyLength, size: Int) -> Body? {
        var (framing, body, index) = (BodyFraming(length), Body(), 0)
        while !framing.isComplete, index < bytes.count {
            let part = bytes.span.extracting(index..<min(bytes.count, index + max(1, size)))
            guard let piece = try? framing.next(in: part) else { return nil }
            precondition(
                piece.end > 0 && piece.end <= part.count && piece.content.upperBound <= piece.end,
                "no progress"
            )
            body.content +=
                bytes[index..<index + piece.end][
                    (index + piece.content.lowerBound)..<(index + piece.content.upperBound)
                ]
            index += piece.end
        }
        if framing.isComplete { body.end = index }
        return body
    }

    /// Another way to read chunks, which takes more than ours: lines up to a line feed, a number at the beginning of each.
    private static func plainly(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
        var (rest, content) = (bytes, [UInt8]())
        while let end = rest.firstIndex(of: 0x0A) {
            let digits = String(decoding: rest[..<end], as: UTF8.self).prefix { $0.isHexDigit }
            guard let size = Int(digits, radix: 16) else { return nil }
            rest = rest[(end + 1)...]
            guard size > 0 else { return content }
            guard rest.count >= size + 2 else { return nil }
            content += rest.prefix(size)
            rest = rest.dropFirst(size + 2)
        }
        return nil
    }

    /// The head for the server: readable, with the same end, and with one credential.
    private static func forwarded(_ head: MessageHead, _ length: BodyLength) {
        guard let request = try? rules.request(head), let made = try? rules.head(of: request, token: "T") else {
            return
        }
        var parser = HeadParser(.request)
        guard let (again, end) = try? parser.parse(made.span) else { preconditionFailure("a head that cannot be read") }
        precondition(end == made.count && (try? again.requestLength()) == length, "another end of the message")
        precondition(again.values(of: "host") == ["api.example.com"], "another host")
        precondition(again.values(of: "authorization") == ["Bearer T"], "another credential")
        precondition(made.firstRange(of: Array(phantom.utf8)) == nil, "the phantom")
        let own: Set = ["connection", "cookie", "expect", "upgrade", "te", "trailer", "keep-alive", "x-api-key", "via"]
        for field in again.fields {
            precondition(!own.contains(field.name) && !field.name.hasPrefix("proxy-"), "a field of the client's own")
        }
        guard case .request(_, let target) = again.start, let path = try? ForwardedPath(target) else {
            preconditionFailure("another target")
        }
        precondition(!path.text.hasPrefix("//") && !path.text.hasSuffix("/.."), "a path above")
    }

    /// The head for the client: readable, and with no framing of the server's.
    private static func answered(_ head: MessageHead) {
        var parser = HeadParser(.request)
        guard let (ask, _) = try? parser.parse(Array("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8).span),
            let request = try? rules.request(ask), let answer = try? rules.answer(head, to: request)
        else { return }
        var again = HeadParser(.answer)
        guard let (made, end) = try? again.parse(answer.head.span), end == answer.head.count else {
            preconditionFailure("a head that cannot be read")
        }
        let length = try? made.answerLength(to: "GET")
        precondition(length == (answer.hasChunks ? .chunked : answer.length), "another end of the answer")
    }
}
