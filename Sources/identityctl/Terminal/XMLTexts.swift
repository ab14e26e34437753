// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// The texts of a small XML document, each under the path of its element.
///
/// This is the XML that a service writes for programs: elements, texts, and the references of XML itself. Attributes are
/// passed over. Everything else is refused: a document type with entities of its own, comments, CDATA sections,
/// instructions, text beside elements, and a second element of the same path, of which two readers could take different
/// ones.
///
/// - SeeAlso: [XML 1.0](https://www.w3.org/TR/xml/)
struct XMLTexts: Sendable {
    struct Malformed: Error {}

    private static let maximumDepth = 8

    private var rest: ArraySlice<UInt8>
    private var texts: [String: String] = [:]

    /// - Throws: `Malformed`.
    init(parsing bytes: [UInt8]) throws {
        rest = bytes[...]
        _ = take("\u{FEFF}")
        if take("<?xml ") {
            guard let end = rest.firstIndex(of: UInt8(ascii: ">")), rest[..<end].last == UInt8(ascii: "?") else {
                throw Malformed()
            }
            rest = rest[(end + 1)...]
        }
        skipSpace()
        try element(in: [])
        skipSpace()
        guard rest.isEmpty else { throw Malformed() }
    }

    /// The text of the element with this path, such as `ErrorResponse/Error/Code`.
    subscript(path: String) -> String? { texts[path] }

    private mutating func element(in parents: [String]) throws {
        guard parents.count < Self.maximumDepth, take("<"), let name = name() else { throw Malformed() }
        let path = (parents + [name]).joined(separator: "/")
        guard texts.updateValue("", forKey: path) == nil else { throw Malformed() }
        try skipAttributes()
        if take("/>") { return }
        guard take(">") else { throw Malformed() }
        var text: [UInt8] = []
        var hasElements = false
        while !take("</") {
            guard let byte = rest.first else { throw Malformed() }
            switch byte {
            case UInt8(ascii: "<"):
                hasElements = true
                try element(in: parents + [name])
            case UInt8(ascii: "&"): text += String(try reference()).utf8
            case 0..<0x20 where !Self.isSpace(byte): throw Malformed()
            default: text.append(rest.removeFirst())
            }
        }
        guard take(name) else { throw Malformed() }
        skipSpace()
        guard take(">"), !hasElements || text.allSatisfy(Self.isSpace),
            let text = String(validating: hasElements ? [] : text, as: UTF8.self)
        else { throw Malformed() }
        texts[path] = text
    }

    private mutating func skipAttributes() throws {
        while true {
            let isApart = skipSpace()
            guard let byte = rest.first else { throw Malformed() }
            if [UInt8(ascii: ">"), UInt8(ascii: "/")].contains(byte) { return }
            guard isApart, name(mayHaveColon: true) != nil else { throw Malformed() }
            skipSpace()
            guard take("=") else { throw Malformed() }
            skipSpace()
            guard let quote = rest.first, [UInt8(ascii: "\""), UInt8(ascii: "'")].contains(quote),
                let end = rest.dropFirst().firstIndex(of: quote), !rest[..<end].contains(UInt8(ascii: "<"))
            else { throw Malformed() }
            rest = rest[(end + 1)...]
        }
    }

    /// Returns the character that a reference such as `&amp;` or `&#65;` stands for.
    private mutating func reference() throws -> Unicode.Scalar {
        guard let end = rest.prefix(12).firstIndex(of: UInt8(ascii: ";")) else { throw Malformed() }
        let name = String(decoding: rest[..<end].dropFirst(), as: UTF8.self)
        rest = rest[(end + 1)...]
        switch name {
        case "amp": return "&"
        case "lt": return "<"
        case "gt": return ">"
        case "quot": return "\""
        case "apos": return "'"
        default:
            let isHexadecimal = name.hasPrefix("#x")
            let digits = name.dropFirst(isHexadecimal ? 2 : 1)
            guard name.hasPrefix("#"), digits.utf8.first != UInt8(ascii: "+"),
                let value = UInt32(digits, radix: isHexadecimal ? 16 : 10), let scalar = Unicode.Scalar(value),
                value >= 0x20 || Self.isSpace(UInt8(value))
            else { throw Malformed() }
            return scalar
        }
    }

    private mutating func name(mayHaveColon: Bool = false) -> String? {
        let bytes = rest.prefix { byte in
            byte.isAlphanumeric || "._-".utf8.contains(byte) || (mayHaveColon && byte == UInt8(ascii: ":"))
        }
        rest = rest.dropFirst(bytes.count)
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }

    private mutating func take(_ text: String) -> Bool {
        guard rest.starts(with: text.utf8) else { return false }
        rest = rest.dropFirst(text.utf8.count)
        return true
    }

    @discardableResult
    private mutating func skipSpace() -> Bool {
        let spaces = rest.prefix(while: Self.isSpace)
        rest = rest.dropFirst(spaces.count)
        return !spaces.isEmpty
    }

    private static func isSpace(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }
}
