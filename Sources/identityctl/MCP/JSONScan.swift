// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// Looks through JSON, and decodes nothing: a text may have what the strict parser refuses, such as half a surrogate pair, and its
/// size costs nothing but the look.
///
/// - SeeAlso: [RFC 8259](https://www.rfc-editor.org/rfc/rfc8259)
struct JSONScan {
    /// The reason why a text is of no use.
    struct Problem: Error, Hashable, CustomStringConvertible {
        let description: String

        init(_ description: String) {
            self.description = description
        }

        fileprivate static let noObject = Problem("The text is no JSON object.")
    }

    private(set) var text: [UInt8]
    private let joinsLines: Bool
    private var position: Int
    private let end: Int
    private var isAtFirst = false

    /// - Parameters:
    ///   - range: The part that is looked through.
    ///   - joinsLines: Whether line breaks between values become spaces.
    init(_ text: [UInt8], in range: Range<Int>? = nil, joinsLines: Bool = false) {
        (self.text, self.joinsLines) = (text, joinsLines)
        (position, end) = (range?.lowerBound ?? 0, range?.upperBound ?? text.count)
    }

    /// Whether a text is one object.
    static func isObject(_ text: [UInt8]) -> Bool { lineOfMistake(in: text) == nil }

    /// Returns the number of the line up to which a text could be one object; `nil` if it is one.
    static func lineOfMistake(in text: [UInt8]) -> Int? {
        var scan = JSONScan(text)
        do {
            try scan.enter("{")
            while try scan.nextMember() != nil {}
            if scan.isAtEnd() { return nil }
        } catch {}  // The place tells enough.
        return 1 + text.prefix(scan.position).count { $0 == 0x0A }
    }

    /// Goes into an object or a list.
    mutating func enter(_ opening: Unicode.Scalar) throws(Problem) {
        skipBlanks()
        try take(UInt8(ascii: opening))
        isAtFirst = true
    }

    /// Returns the places of a member's name, without its quotes, and value; `nil` after the last one.
    mutating func nextMember() throws(Problem) -> (name: Range<Int>, value: Range<Int>)? {
        guard try goesOn(until: UInt8(ascii: "}")) else { return nil }
        let start = position
        try skipName()
        let name = (start + 1)..<(closingQuote)
        let value = position
        try skipValue()
        return (name, value..<position)
    }

    /// Returns the place of an element of a list; `nil` after the last one.
    mutating func nextElement() throws(Problem) -> Range<Int>? {
        guard try goesOn(until: UInt8(ascii: "]")) else { return nil }
        let start = position
        try skipValue()
        return start..<position
    }

    /// Whether only blanks are left.
    mutating func isAtEnd() -> Bool {
        skipBlanks()
        return position == end
    }

    private mutating func goesOn(until closing: UInt8) throws(Problem) -> Bool {
        defer { isAtFirst = false }
        skipBlanks()
        if takes(closing) { return false }
        if !isAtFirst { try take(UInt8(ascii: ",")) }
        skipBlanks()
        return true
    }

    private var peek: UInt8? { position < end ? text[position] : nil }

    private mutating func skipBlanks() {
        while let byte = peek, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
            if joinsLines, byte != 0x20 { text[position] = 0x20 }
            position += 1
        }
    }

    private mutating func takes(_ byte: UInt8) -> Bool {
        guard peek == byte else { return false }
        position += 1
        return true
    }

    private mutating func take(_ byte: UInt8) throws(Problem) {
        guard takes(byte) else { throw .noObject }
    }

    /// The place of the quote that ended the last text.
    private var closingQuote = 0

    private mutating func skipName() throws(Problem) {
        try skipText()
        skipBlanks()
        try take(UInt8(ascii: ":"))
        skipBlanks()
    }

    private mutating func skipText() throws(Problem) {
        try take(UInt8(ascii: "\""))
        while let byte = peek {
            position += 1
            switch byte {
            case UInt8(ascii: "\""):
                closingQuote = position - 1
                return
            case UInt8(ascii: "\\"): try skipEscape()
            case 0..<0x20: throw Problem("A text in JSON has a control character.")
            default: break
            }
        }
        throw .noObject
    }

    private mutating func skipEscape() throws(Problem) {
        guard let escape = peek else { throw .noObject }
        position += 1
        switch escape {
        case UInt8(ascii: "u"):
            for _ in 0..<4 {
                guard let digit = peek, digit.isHexadecimal else { throw .noObject }
                position += 1
            }
        case _ where "\"\\/bfnrt".utf8.contains(escape): break
        default: throw .noObject
        }
    }

    /// Skips a value with all that is in it.
    private mutating func skipValue() throws(Problem) {
        var closings: [UInt8] = []
        while true {
            guard let byte = peek else { throw .noObject }
            var isInside = false
            switch byte {
            case UInt8(ascii: "\""): try skipText()
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                position += 1
                let closing = byte + 2  // in ASCII
                skipBlanks()
                if !takes(closing) {
                    closings.append(closing)
                    isInside = true
                    if byte == UInt8(ascii: "{") { try skipName() }
                }
            case UInt8(ascii: "t"): try skipWord("true")
            case UInt8(ascii: "f"): try skipWord("false")
            case UInt8(ascii: "n"): try skipWord("null")
            default: try skipNumber()
            }
            while !isInside {
                guard let closing = closings.last else { return }
                skipBlanks()
                if takes(UInt8(ascii: ",")) {
                    skipBlanks()
                    if closing == UInt8(ascii: "}") { try skipName() }
                    isInside = true
                } else {
                    try take(closing)
                    closings.removeLast()
                }
            }
        }
    }

    private mutating func skipWord(_ word: StaticString) throws(Problem) {
        let count = word.utf8CodeUnitCount
        guard end - position >= count, text[position..<(position + count)].elementsEqual("\(word)".utf8) else {
            throw .noObject
        }
        position += count
    }

    private mutating func skipNumber() throws(Problem) {
        _ = takes(UInt8(ascii: "-"))
        if !takes(UInt8(ascii: "0")) { try skipDigits() }
        if takes(UInt8(ascii: ".")) { try skipDigits() }
        if takes(UInt8(ascii: "e")) || takes(UInt8(ascii: "E")) {
            if !takes(UInt8(ascii: "+")) { _ = takes(UInt8(ascii: "-")) }
            try skipDigits()
        }
        // What follows is a comma, an end or a blank, or else refused by the caller.
    }

    private mutating func skipDigits() throws(Problem) {
        let start = position
        while peek?.isDigit == true { position += 1 }
        guard position > start else { throw .noObject }
    }
}

/// The members of an object in a text that was looked through. A value is parsed when it is asked for.
struct JSONMembers: Hashable, Sendable {
    /// The names that are ever asked for: an object may have a million others.
    private static let names: Set = [
        "id", "method", "params", "result", "error", "_meta", "name", "uri", "arguments", "requestId", "tools",
        "protocolVersion", "supportedVersions", "capabilities", "cursor", "nextCursor", "code", "action",
        MCPFields.versionMember,
    ]

    let text: [UInt8]
    let places: [String: Range<Int>]

    /// Looks for the members of the object that a scan is before.
    ///
    /// - Parameter isWhole: Whether it is a whole message, alone on its line. A name in it with an escape could be another spelling
    ///   of one that counts.
    init(_ scan: inout JSONScan, isWhole: Bool = false) throws(JSONScan.Problem) {
        var places: [String: Range<Int>] = [:]
        try Self.read(&scan, refusesEscapes: isWhole, into: &places)
        guard !isWhole || scan.isAtEnd() else { throw JSONScan.Problem("More than one message is on a line.") }
        (text, self.places) = (scan.text, places)
    }

    /// Returns what is found of the members before the text ends, or makes no sense.
    init(inBeginningOf text: [UInt8]) {
        var (scan, places): (JSONScan, [String: Range<Int>]) = (JSONScan(text), [:])
        try? Self.read(&scan, refusesEscapes: true, into: &places)  // what came before counts
        (self.text, self.places) = (text, places)
    }

    private static func read(
        _ scan: inout JSONScan,
        refusesEscapes: Bool,
        into places: inout [String: Range<Int>]
    ) throws(JSONScan.Problem) {
        try scan.enter("{")
        while let (place, value) = try scan.nextMember() {
            let bytes = scan.text[place]
            guard !refusesEscapes || !bytes.contains(UInt8(ascii: "\\")) else { throw .noObject }
            guard bytes.count <= 64 else { continue }
            let name = String(decoding: bytes, as: UTF8.self)
            if names.contains(name), places.updateValue(value, forKey: name) != nil {
                throw JSONScan.Problem("A message has the member '\(name)' twice.")
            }
        }
    }

    /// Returns a value; `nil` if there is none.
    ///
    /// - Throws: `JSONScan.Problem` for one that cannot be read.
    func value(_ name: String, atMost limit: Int = .max) throws(JSONScan.Problem) -> JSONValue? {
        guard let place = places[name] else { return nil }
        guard place.count <= limit else { throw JSONScan.Problem("The member '\(name)' of a message is too long.") }
        do {
            return try Self.parsed(text[place])
        } catch {
            throw JSONScan.Problem("The member '\(name)' of a message cannot be read: \(error.reason.rawValue).")
        }
    }

    /// Returns the members of an object; `nil` if there is no object.
    func members(_ name: String) throws(JSONScan.Problem) -> JSONMembers? {
        guard let place = places[name], text[place].first == UInt8(ascii: "{") else { return nil }
        var scan = JSONScan(text, in: place)
        return try JSONMembers(&scan)
    }

    /// Returns the places of a list's elements; `nil` if there is no list.
    func elements(_ name: String) throws(JSONScan.Problem) -> [Range<Int>]? {
        guard let place = places[name], text[place].first == UInt8(ascii: "[") else { return nil }
        var (scan, elements): (JSONScan, [Range<Int>]) = (JSONScan(text, in: place), [])
        try scan.enter("[")
        while let element = try scan.nextElement() { elements.append(element) }
        return elements
    }

    static func parsed(_ text: ArraySlice<UInt8>) throws(JSONError) -> JSONValue? {
        try JSONObject(parsing: Array("{\"value\":".utf8) + text + [UInt8(ascii: "}")], maximumDepth: 64)["value"]
    }
}
