// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// One JSON-RPC message on one line. It is looked through, and only the members that are asked for are parsed.
///
/// - SeeAlso: [JSON-RPC 2.0](https://www.jsonrpc.org/specification)
struct MCPMessage: Hashable, Sendable {
    /// The most bytes of a message: for the pictures that tools answer with.
    static let maximumBytes = 8 << 20

    /// The reason why bytes are no message.
    struct Problem: Error, Hashable, CustomStringConvertible {
        let description: String

        init(_ description: String) {
            self.description = description
        }

        static let tooLarge = Problem("A message has more than \(MCPMessage.maximumBytes >> 20) MiB, which is refused.")
    }

    /// The message, without line breaks.
    let line: [UInt8]
    /// The text or number that a request and its answer share.
    private(set) var id: JSONValue?
    /// The name of the request or notification; `nil` in an answer.
    private(set) var method: String?
    private let members: [String: Range<Int>]

    var isRequest: Bool { method != nil && id != nil }
    var isAnswer: Bool { method == nil }

    /// - Throws: `Problem`.
    init(_ text: [UInt8]) throws(Problem) {
        guard text.count <= Self.maximumBytes else { throw .tooLarge }
        guard String(validating: text, as: UTF8.self) != nil else { throw Problem("A message is not UTF-8.") }
        var scan = Scan(line: text)
        try scan.readObject()
        line = scan.line
        members = scan.members
        id = nil
        method = nil
        if let value = try value("id", atMost: 1024), !value.isNull {
            switch value {
            case .string, .number: id = value
            default: throw Problem("The id of a message is neither a text nor a number.")
            }
        }
        if let value = try value("method", atMost: 1024) {
            guard let text = value.string else { throw Problem("The method of a message is no text.") }
            method = text
        } else if members["result"] == nil, members["error"] == nil {
            throw Problem("A message has no method, result or error.")
        }
    }

    /// Returns the messages of a line or a body: one, or those of a batch (revision 2025-03-26).
    ///
    /// - Throws: `Problem`.
    static func all(in text: [UInt8]) throws(Problem) -> [MCPMessage] {
        guard text.first(where: { !$0.isBlank }) == UInt8(ascii: "[") else { return [try MCPMessage(text)] }
        guard text.count <= maximumBytes else { throw .tooLarge }
        let batch: JSONObject
        do {
            batch = try JSONObject(parsing: Array("{\"batch\":".utf8) + text + [UInt8(ascii: "}")], maximumDepth: 64)
        } catch {
            throw Problem("A batch is no list of messages: \(error.reason.rawValue).")
        }
        var messages: [MCPMessage] = []
        for value in batch.array("batch") ?? [] { messages.append(try MCPMessage(Array(value.jsonText.utf8))) }
        guard !messages.isEmpty else { throw Problem("A batch is empty.") }
        return messages
    }

    /// Returns the id of a message that cannot be used, if the beginning of its text has it.
    static func id(inBeginningOf text: [UInt8]) -> JSONValue? {
        var scan = Scan(line: Array(text.prefix(4096)))
        try? scan.readObject()
        guard let range = scan.members["id"], let value = try? parsed(scan.line[range]) else { return nil }
        return switch value {
        case .string, .number: value
        default: nil
        }
    }

    /// Returns the object in a member, such as the parameters; `nil` if there is none.
    ///
    /// - Throws: `Problem` for one that cannot be read.
    func object(_ name: String) throws(Problem) -> JSONObject? {
        guard case .object(let object)? = try value(name, atMost: Self.maximumBytes) else { return nil }
        return object
    }

    /// Returns the message as the answer to a request, with the request's own id; `nil` if it answers another one.
    ///
    /// Deviation: some servers write the id in another way (`"2"` or `2.0` for `2`), and an error often has none or `null`.
    func answer(to request: MCPMessage) throws(Problem) -> MCPMessage? {
        guard isAnswer, let wanted = request.id else { return nil }
        if id == wanted { return self }
        guard id.map({ Self.text(ofID: $0) == Self.text(ofID: wanted) }) ?? (members["error"] != nil) else {
            return nil
        }
        let text = Array(wanted.jsonText.utf8)
        if let range = members["id"] { return try replacing(range, with: text) }
        let start = (line.firstIndex(of: UInt8(ascii: "{")) ?? 0) + 1
        return try replacing(start..<start, with: Array("\"id\":".utf8) + text + [UInt8(ascii: ",")])
    }

    /// The text of an id, or its number without a fraction that is nothing.
    private static func text(ofID id: JSONValue) -> Substring? {
        let text = id.string ?? id.jsonText
        return text.hasSuffix(".0") ? text.dropLast(2) : text[...]
    }

    /// Returns the message with another object in a member.
    func replacing(_ name: String, with object: JSONObject) throws(Problem) -> MCPMessage {
        try members[name].map { range throws(Problem) in try replacing(range, with: object.serialized()) } ?? self
    }

    private func replacing(_ range: Range<Int>, with text: [UInt8]) throws(Problem) -> MCPMessage {
        var line = line
        line.replaceSubrange(range, with: text)
        return try MCPMessage(line)
    }

    private func value(_ name: String, atMost limit: Int) throws(Problem) -> JSONValue? {
        guard let range = members[name] else { return nil }
        guard range.count <= limit else { throw Problem("The member '\(name)' of a message is too long.") }
        do {
            return try Self.parsed(line[range])
        } catch {
            throw Problem("The member '\(name)' of a message cannot be read: \(error.reason.rawValue).")
        }
    }

    private static func parsed(_ text: ArraySlice<UInt8>) throws(JSONError) -> JSONValue? {
        try JSONObject(parsing: Array("{\"value\":".utf8) + text + [UInt8(ascii: "}")], maximumDepth: 64)["value"]
    }
}

extension MCPMessage {
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

/// Looks through one object: where its members are. Line breaks between values become spaces.
private struct Scan {
    var line: [UInt8]
    private(set) var members: [String: Range<Int>] = [:]
    private var position = 0
    private static let names: Set = ["id", "method", "params", "result", "error"]

    init(line: [UInt8]) {
        self.line = line
    }

    mutating func readObject() throws(MCPMessage.Problem) {
        skipBlanks()
        try take("{")
        skipBlanks()
        if peek == UInt8(ascii: "}") {
            position += 1
        } else {
            repeat {
                skipBlanks()
                let start = position
                try skipText()
                let name = line[(start + 1)..<(position - 1)]
                // With an escape, it could be another spelling of a name that counts.
                guard !name.contains(UInt8(ascii: "\\")) else { throw Self.problem }
                skipBlanks()
                try take(":")
                skipBlanks()
                let value = position
                try skipValue()
                let text = String(decoding: name.prefix(8), as: UTF8.self)
                if Self.names.contains(text), members.updateValue(value..<position, forKey: text) != nil {
                    throw MCPMessage.Problem("A message has the member '\(text)' twice.")
                }
                skipBlanks()
            } while takes(",")
            try take("}")
        }
        skipBlanks()
        guard position == line.count else { throw MCPMessage.Problem("More than one message is on a line.") }
    }

    private static let problem = MCPMessage.Problem("A message is no JSON object.")

    private var peek: UInt8? { position < line.count ? line[position] : nil }

    private mutating func skipBlanks() {
        while let byte = peek, byte.isBlank {
            line[position] = UInt8(ascii: " ")
            position += 1
        }
    }

    private mutating func takes(_ character: Unicode.Scalar) -> Bool {
        guard peek == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func take(_ character: Unicode.Scalar) throws(MCPMessage.Problem) {
        guard takes(character) else { throw Self.problem }
    }

    private mutating func skipText() throws(MCPMessage.Problem) {
        try take("\"")
        while let byte = peek {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return
            case UInt8(ascii: "\\"):
                guard let next = peek, next >= 0x20 else { throw Self.problem }
                position += 1
            case 0..<0x20: throw MCPMessage.Problem("A text in a message has a control character.")
            default: break
            }
        }
        throw Self.problem
    }

    /// Skips a text, a word, or an object or list with all that is in it.
    private mutating func skipValue() throws(MCPMessage.Problem) {
        let (start, ends) = (position, Array(",}]".utf8))
        var depth = 0
        while let byte = peek, depth > 0 || !(byte.isBlank || ends.contains(byte)) {
            switch byte {
            case UInt8(ascii: "\""): try skipText()
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                position += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                position += 1
            case _ where byte.isBlank: skipBlanks()
            case 0..<0x20: throw Self.problem
            default: position += 1
            }
        }
        guard depth == 0, position > start else { throw Self.problem }
    }
}

extension UInt8 {
    /// Whether JSON allows the byte between values.
    fileprivate var isBlank: Bool { self == 0x20 || self == 0x0A || self == 0x0D || self == 0x09 }
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
