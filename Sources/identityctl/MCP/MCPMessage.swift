// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// One JSON-RPC message on one line. It is looked through, and only the members that are asked for are parsed.
///
/// - SeeAlso: [JSON-RPC 2.0](https://www.jsonrpc.org/specification)
struct MCPMessage: Hashable, Sendable {
    /// The most bytes of a message: for the pictures that tools answer with. AI programs take no more.
    static let maximumBytes = 16 << 20
    private static let maximumBatch = 1024

    typealias Problem = JSONScan.Problem

    /// The message, without line breaks.
    var line: [UInt8] { members.text }
    let members: JSONMembers
    /// The text or number that a request and its answer share.
    private(set) var id: JSONValue?
    /// The name of the request or notification; `nil` in an answer.
    private(set) var method: String?

    var isRequest: Bool { method != nil && id != nil }
    var isAnswer: Bool { method == nil }

    /// - Throws: `Problem`.
    init(_ text: [UInt8]) throws(Problem) {
        guard text.count <= Self.maximumBytes else { throw .tooLarge }
        guard (try? UTF8Span(validating: text.span)) != nil else { throw Problem("A message is not UTF-8.") }
        var scan = JSONScan(text, joinsLines: true)
        members = try JSONMembers(&scan, isWhole: true)
        id = nil
        method = nil
        if let value = try members.value("id", atMost: 1024), !value.isNull {
            switch value {
            case .string, .number: id = value
            default: throw Problem("The id of a message is neither a text nor a number.")
            }
        }
        if let value = try members.value("method", atMost: 1024) {
            guard let text = value.string else { throw Problem("The method of a message is no text.") }
            method = text
        } else if members.places["result"] == nil, members.places["error"] == nil {
            throw Problem("A message has no method, result or error.")
        }
    }

    /// Returns the messages of a line or a body: one, or those of a batch (revision 2025-03-26).
    ///
    /// - Throws: `Problem`.
    static func all(in text: [UInt8]) throws(Problem) -> [MCPMessage] {
        let isBatch = text.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } == UInt8(ascii: "[")
        guard isBatch else { return [try MCPMessage(text)] }
        guard text.count <= maximumBytes else { throw .tooLarge }
        var scan = JSONScan(text)
        var messages: [MCPMessage] = []
        try scan.enter("[")
        while let place = try scan.nextElement() {
            guard messages.count < maximumBatch else {
                throw Problem("A batch has more than \(maximumBatch) messages.")
            }
            messages.append(try MCPMessage(Array(text[place])))
        }
        guard scan.isAtEnd(), !messages.isEmpty else { throw Problem("A batch is empty, or is not alone on its line.") }
        return messages
    }

    /// Returns the id of a message that cannot be used, if the beginning of its text has it.
    static func id(inBeginningOf text: [UInt8]) -> JSONValue? {
        let members = JSONMembers(inBeginningOf: Array(text.prefix(4096)))
        return switch try? members.value("id") {
        case .string(let text): .string(text)
        case .number(let text): .number(text)
        default: nil
        }
    }

    /// Returns the message as the answer to a request, with the request's own id; `nil` if it answers another one.
    ///
    /// Deviation: some servers write the id in another way (`"2"` or `2.0` for `2`), and an error often has none or `null`.
    func answer(to request: MCPMessage) throws(Problem) -> MCPMessage? {
        guard isAnswer, let wanted = request.id else { return nil }
        if id == wanted { return self }
        guard id.map({ Self.text(ofID: $0) == Self.text(ofID: wanted) }) ?? (members.places["error"] != nil) else {
            return nil
        }
        return try identified(as: request)
    }

    /// Returns the message with the id of a request.
    func identified(as request: MCPMessage) throws(Problem) -> MCPMessage {
        let text = Array((request.id ?? .null).jsonText.utf8)
        if let range = members.places["id"] { return try replacing(range, with: text) }
        let start = (line.firstIndex(of: UInt8(ascii: "{")) ?? 0) + 1
        return try replacing(start..<start, with: Array("\"id\":".utf8) + text + [UInt8(ascii: ",")])
    }

    /// The text of an id, or its number without a fraction that is nothing.
    private static func text(ofID id: JSONValue) -> Substring? {
        let text = id.string ?? id.jsonText
        return text.hasSuffix(".0") ? text.dropLast(2) : text[...]
    }

    /// Returns the message with another text at a place.
    func replacing(_ range: Range<Int>, with text: [UInt8]) throws(Problem) -> MCPMessage {
        var line = line
        line.replaceSubrange(range, with: text)
        return try MCPMessage(line)
    }
}

extension MCPMessage {
    /// The line of an answer.
    static func result(of id: JSONValue?, _ result: JSONObject) -> [UInt8] {
        JSONObject([("jsonrpc", .string("2.0")), ("id", id ?? .null), ("result", .object(result))]).serialized()
    }

    /// The line of a notification.
    static func notification(_ method: String, _ params: JSONObject? = nil) -> [UInt8] {
        var message = JSONObject([("jsonrpc", .string("2.0")), ("method", .string(method))])
        message["params"] = params.map { .object($0) }
        return message.serialized()
    }

    /// The line of an answer that says what went wrong.
    static func failure(of id: JSONValue?, _ code: Int, _ text: String, data: JSONObject? = nil) -> [UInt8] {
        var error = JSONObject([("code", .integer(code)), ("message", .string(text))])
        error["data"] = data.map { .object($0) }
        return failure(of: id, error)
    }

    static func failure(of id: JSONValue?, _ error: JSONObject) -> [UInt8] {
        JSONObject([("jsonrpc", .string("2.0")), ("id", id ?? .null), ("error", .object(error))]).serialized()
    }
}

extension JSONScan.Problem {
    static let tooLarge = Self(
        "identityctl passes on messages of at most \(MCPMessage.maximumBytes >> 20) MiB, and this one is larger. Ask for less at a time."
    )
}

extension [UInt8] {
    /// Whether a text is in the bytes. It looks at few of them (Boyer, Moore, Horspool), as messages are large.
    func contains(_ text: String) -> Bool {
        let text = Array(text.utf8)
        var steps = [Int](repeating: text.count, count: 256)
        for (index, byte) in text.dropLast().enumerated() { steps[Int(byte)] = text.count - 1 - index }
        var end = text.count
        while end <= count {
            if self[end - 1] == text.last, self[(end - text.count)..<end].elementsEqual(text) { return true }
            end += steps[Int(self[end - 1])]
        }
        return false
    }
}
