// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension JSONObject {
    /// Parses one JSON object from `bytes`.
    ///
    /// The parser is stricter than most, because attackers exploit differences between parsers. It refuses a name that
    /// occurs twice in an object, bytes that are not UTF-8, a byte order mark, half surrogate pairs, and anything after
    /// the object.
    /// - Parameter maximumDepth: The maximum number of nested objects and arrays, including the outermost.
    /// - Throws: `JSONError`.
    /// - SeeAlso: [RFC 8259](https://www.rfc-editor.org/rfc/rfc8259), [RFC 7493](https://www.rfc-editor.org/rfc/rfc7493)
    package init(parsing bytes: [UInt8], maximumDepth: Int = 16) throws(JSONError) {
        var parser = JSONParser(bytes: bytes, maximumDepth: maximumDepth)
        self = try parser.parseDocument()
    }

    /// Parses one JSON object from a server's answer, which may begin with a byte order mark.
    ///
    /// - Parameter repairsText: Whether bytes of a text that are not UTF-8 become U+FFFD instead of an error.
    /// - Throws: `JSONError`.
    /// - SeeAlso: [RFC 8259 §8.1](https://www.rfc-editor.org/rfc/rfc8259#section-8.1)
    package init(received bytes: [UInt8], repairsText: Bool = false) throws(JSONError) {
        var parser = JSONParser(bytes: bytes, maximumDepth: 16)
        parser.repairsText = repairsText
        if bytes.starts(with: Self.byteOrderMark) { parser.position = Self.byteOrderMark.count }
        self = try parser.parseDocument()
    }

    /// U+FEFF, with which some programs begin a text in UTF-8.
    static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
}

/// A recursive-descent reader over UTF-8 bytes.
private struct JSONParser {
    let bytes: [UInt8]
    let maximumDepth: Int
    var position = 0
    var repairsText = false

    init(bytes: [UInt8], maximumDepth: Int) {
        self.bytes = bytes
        self.maximumDepth = maximumDepth
    }

    mutating func parseDocument() throws(JSONError) -> JSONObject {
        skipWhitespace()
        guard let first = peek() else { throw failure(.unexpectedEnd) }
        guard first == UInt8(ascii: "{") else {
            throw failure(bytes.starts(with: JSONObject.byteOrderMark) ? .byteOrderMark : .notAnObject)
        }
        let object = try parseObject(depth: 1)
        skipWhitespace()
        guard position == bytes.count else { throw failure(.trailingBytes) }
        return object
    }

    private mutating func parseValue(depth: Int) throws(JSONError) -> JSONValue {
        guard let byte = peek() else { throw failure(.unexpectedEnd) }
        switch byte {
        case UInt8(ascii: "\""): return .string(try parseString())
        case UInt8(ascii: "{"): return .object(try parseObject(depth: depth + 1))
        case UInt8(ascii: "["): return .array(try parseArray(depth: depth + 1))
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try parseNumber())
        case UInt8(ascii: "t"): return try parseWord("true", as: .bool(true))
        case UInt8(ascii: "f"): return try parseWord("false", as: .bool(false))
        case UInt8(ascii: "n"): return try parseWord("null", as: .null)
        default: throw failure(.unexpectedByte)
        }
    }

    private mutating func parseObject(depth: Int) throws(JSONError) -> JSONObject {
        guard depth <= maximumDepth else { throw failure(.tooDeep) }
        position += 1
        var object = JSONObject()
        var names = NameSet()
        skipWhitespace()
        if take(UInt8(ascii: "}")) { return object }
        while true {
            skipWhitespace()
            let start = position
            try expect(UInt8(ascii: "\""), consume: false)
            let name = try parseString()
            guard names.insert(name) else { throw JSONError(reason: .duplicateName, offset: start) }
            skipWhitespace()
            try expect(UInt8(ascii: ":"))
            skipWhitespace()
            object.append(name, try parseValue(depth: depth))
            skipWhitespace()
            if take(UInt8(ascii: "}")) { return object }
            try expect(UInt8(ascii: ","))
        }
    }

    private mutating func parseArray(depth: Int) throws(JSONError) -> [JSONValue] {
        guard depth <= maximumDepth else { throw failure(.tooDeep) }
        position += 1
        var values: [JSONValue] = []
        skipWhitespace()
        if take(UInt8(ascii: "]")) { return values }
        while true {
            skipWhitespace()
            values.append(try parseValue(depth: depth))
            skipWhitespace()
            if take(UInt8(ascii: "]")) { return values }
            try expect(UInt8(ascii: ","))
        }
    }

    private mutating func parseWord(_ word: StaticString, as value: JSONValue) throws(JSONError) -> JSONValue {
        for byte in word.description.utf8 { try expect(byte) }
        return value
    }
}

// MARK: - Strings

extension JSONParser {
    private mutating func parseString() throws(JSONError) -> String {
        position += 1
        let start = position
        scanPlainBytes()
        if take(UInt8(ascii: "\"")) {  // no escapes: the common case is one copy
            return try text(bytes[start..<(position - 1)], startingAt: start)
        }
        var buffer = Array(bytes[start..<position])
        while let byte = peek() {
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                return try text(buffer[...], startingAt: start)
            case UInt8(ascii: "\\"):
                try parseEscape(into: &buffer)
            default:
                throw failure(.controlCharacter)
            }
            let run = position
            scanPlainBytes()
            buffer += bytes[run..<position]
        }
        throw failure(.unexpectedEnd)
    }

    /// Moves on to the next quote, backslash or control character.
    private mutating func scanPlainBytes() {
        var index = position
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte < 0x20 { break }
            index += 1
        }
        position = index
    }

    private func text(_ slice: ArraySlice<UInt8>, startingAt offset: Int) throws(JSONError) -> String {
        guard let text = String(validating: slice, as: UTF8.self) else {
            if repairsText { return String(decoding: slice, as: UTF8.self) }
            throw JSONError(reason: .invalidUTF8, offset: offset)
        }
        return text
    }

    private mutating func parseEscape(into buffer: inout [UInt8]) throws(JSONError) {
        let start = position
        position += 1
        guard let byte = peek() else { throw failure(.unexpectedEnd) }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): buffer.append(byte)
        case UInt8(ascii: "b"): buffer.append(0x08)
        case UInt8(ascii: "f"): buffer.append(0x0C)
        case UInt8(ascii: "n"): buffer.append(0x0A)
        case UInt8(ascii: "r"): buffer.append(0x0D)
        case UInt8(ascii: "t"): buffer.append(0x09)
        case UInt8(ascii: "u"):
            guard let scalar = try parseScalar() else { throw JSONError(reason: .loneSurrogate, offset: start) }
            buffer += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
        default: throw JSONError(reason: .invalidEscape, offset: start)
        }
    }

    /// The character after `\u`, from one or two escapes; `nil` if half of a pair is missing.
    private mutating func parseScalar() throws(JSONError) -> Unicode.Scalar? {
        let first = try parseFourHexDigits()
        guard UTF16.isLeadSurrogate(first) else { return Unicode.Scalar(first) }
        guard take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else { return nil }
        let second = try parseFourHexDigits()
        guard UTF16.isTrailSurrogate(second) else { return nil }
        return Unicode.Scalar(0x10000 + (UInt32(first & 0x3FF) << 10) + UInt32(second & 0x3FF))
    }

    private mutating func parseFourHexDigits() throws(JSONError) -> UInt16 {
        var value: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = peek() else { throw failure(.unexpectedEnd) }
            guard let digit = PercentEncoding.hexValue(byte) else { throw failure(.invalidEscape) }
            value = value << 4 | UInt16(digit)
            position += 1
        }
        return value
    }
}

// MARK: - Numbers and bytes

extension JSONParser {
    private mutating func parseNumber() throws(JSONError) -> String {
        let start = position
        _ = take(UInt8(ascii: "-"))
        let isZero = take(UInt8(ascii: "0"))
        if !isZero { try skipDigits() }
        if take(UInt8(ascii: ".")) { try skipDigits() }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            _ = take(UInt8(ascii: "+")) || take(UInt8(ascii: "-"))
            try skipDigits()
        }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private mutating func skipDigits() throws(JSONError) {
        let start = position
        while peek()?.isDigit == true { position += 1 }
        guard position > start else { throw failure(.invalidNumber) }
    }

    private mutating func skipWhitespace() {
        while let byte = peek(), byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private func peek() -> UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard peek() == byte else { return false }
        position += 1
        return true
    }

    private mutating func expect(_ byte: UInt8, consume: Bool = true) throws(JSONError) {
        guard let found = peek() else { throw failure(.unexpectedEnd) }
        guard found == byte else { throw failure(.unexpectedByte) }
        if consume { position += 1 }
    }

    private func failure(_ reason: JSONError.Reason) -> JSONError { JSONError(reason: reason, offset: position) }
}

/// The names of one object: a plain list for a few names, hashed for the many names of a hostile text.
private struct NameSet {
    private var few: [String] = []
    private var many: Set<String> = []

    /// Adds `name`; `false` if it was already there.
    mutating func insert(_ name: String) -> Bool {
        if !many.isEmpty { return many.insert(name).inserted }
        guard !few.contains(name) else { return false }
        few.append(name)
        if few.count > 16 { many = Set(few) }
        return true
    }
}

/// The reason and place at which bytes are not the expected JSON object; never their content.
package struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The reason.
    package enum Reason: String, Hashable, Sendable {
        case unexpectedEnd = "the text ends early"
        case unexpectedByte = "an unexpected byte"
        case byteOrderMark = "a byte order mark"
        case notAnObject = "the text is not an object"
        case trailingBytes = "bytes after the object"
        case tooDeep = "the values are nested too deeply"
        case duplicateName = "a member name occurs twice"
        case invalidUTF8 = "a string is not UTF-8"
        case controlCharacter = "a control character in a string"
        case invalidEscape = "an invalid escape sequence"
        case loneSurrogate = "half of a surrogate pair"
        case invalidNumber = "an invalid number"
    }

    /// The reason.
    package let reason: Reason

    /// The offset in bytes at which the problem was noticed.
    package let offset: Int

    package init(reason: Reason, offset: Int) {
        self.reason = reason
        self.offset = offset
    }

    package var description: String { "\(reason.rawValue) at byte \(offset)" }
}
