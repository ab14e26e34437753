// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// Reads the values in the bytes of a key or a certificate of SSH, from the front.
/// - SeeAlso: [RFC 4251 §5](https://www.rfc-editor.org/rfc/rfc4251#section-5)
package struct SSHReader {
    private var rest: ArraySlice<UInt8>

    package init(_ bytes: [UInt8]) { rest = bytes[...] }

    /// Whether everything is read.
    package var isAtEnd: Bool { rest.isEmpty }

    /// A `string`: a length and as many bytes.
    package mutating func string(_ name: String) throws(WireError) -> [UInt8] {
        let length = try number(name, bytes: 4)
        guard length <= UInt64(rest.count) else { throw WireError.malformed(name) }
        defer { rest = rest.dropFirst(Int(length)) }
        return Array(rest.prefix(Int(length)))
    }

    /// A `string` of UTF-8 without control characters.
    package mutating func text(_ name: String) throws(WireError) -> String {
        let bytes = try string(name)
        guard let text = String(validating: bytes, as: UTF8.self),
            !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else { throw WireError.malformed(name) }
        return text
    }

    /// A positive `mpint` without its sign. It has one form only: a zero byte in front where the sign demands it.
    package mutating func positiveInteger(_ name: String) throws(WireError) -> [UInt8] {
        let bytes = try string(name)
        guard let first = bytes.first, first < 0x80 else { throw WireError.malformed(name) }
        guard first == 0 else { return bytes }
        guard bytes.count > 1, bytes[1] >= 0x80 else { throw WireError.malformed(name) }
        return Array(bytes.dropFirst())
    }

    /// A `uint32` (4 bytes) or `uint64` (8 bytes).
    package mutating func number(_ name: String, bytes count: Int) throws(WireError) -> UInt64 {
        guard rest.count >= count else { throw WireError.malformed(name) }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count).reduce(0) { $0 << 8 | UInt64($1) }
    }
}

/// Writes what ``SSHReader`` reads.
package struct SSHWriter {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    package mutating func string(_ content: some Collection<UInt8>) {
        number(UInt64(content.count), bytes: 4)
        bytes += content
    }

    package mutating func positiveInteger(_ content: [UInt8]) {
        string((content.first ?? 0) < 0x80 ? content : [0] + content)
    }

    package mutating func number(_ value: UInt64, bytes count: Int) {
        for shift in (0..<count).reversed() { bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(8 * shift))) }
    }
}

/// The base64 in the lines of OpenSSH, which has padding. Given bytes have exactly one text.
/// - SeeAlso: [RFC 4648 §4](https://www.rfc-editor.org/rfc/rfc4648#section-4)
package enum SSHBase64 {
    package static func encode(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

    package static func decode(_ text: String) -> [UInt8]? {
        guard let data = Data(base64Encoded: text) else { return nil }
        return WireText.areSame(data.base64EncodedString(), text) ? Array(data) : nil
    }
}
