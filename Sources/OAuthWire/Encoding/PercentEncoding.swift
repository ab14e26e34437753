// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// `%XX` in URLs and forms.
/// - SeeAlso: [RFC 3986 §2](https://www.rfc-editor.org/rfc/rfc3986#section-2)
package enum PercentEncoding {
    /// `text` with every byte outside the unreserved set as `%XX`, for a query, a form body or a path segment.
    package static func encode(_ text: String) -> String {
        if text.utf8.allSatisfy(isUnreserved) { return text }
        var output: [UInt8] = []
        output.reserveCapacity(text.utf8.count + 16)
        for byte in text.utf8 {
            if isUnreserved(byte) {
                output.append(byte)
            } else {
                output += [UInt8(ascii: "%"), hexDigit(byte >> 4), hexDigit(byte & 0xF)]
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// The decoded text; `nil` if an escape is broken or the bytes are not UTF-8.
    /// - Parameter plusIsSpace: Whether `+` stands for a space, as it does in forms.
    package static func decode(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String? {
        var output: [UInt8] = []
        output.reserveCapacity(text.utf8.count)
        var bytes = text.utf8.makeIterator()
        while let byte = bytes.next() {
            switch byte {
            case UInt8(ascii: "%"):
                guard
                    let high = bytes.next().flatMap(hexValue),
                    let low = bytes.next().flatMap(hexValue)
                else { return nil }
                output.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsSpace: output.append(0x20)
            default: output.append(byte)
            }
        }
        return String(validating: output, as: UTF8.self)
    }

    /// The decoded text. A broken escape stands for itself, and bytes that are not UTF-8 become U+FFFD.
    package static func decodeRepairing(_ bytes: some Collection<UInt8>, plusIsSpace: Bool) -> String {
        var output: [UInt8] = []
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2).compactMap(hexValue)
            if byte == UInt8(ascii: "%"), digits.count == 2 {
                output.append(digits[0] << 4 | digits[1])
                rest = rest.dropFirst(2)
            } else {
                output.append(plusIsSpace && byte == UInt8(ascii: "+") ? 0x20 : byte)
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// Whether a server could read `path`, encoded or decoded, as one above it or beside it.
    ///
    /// Tomcat drops what stands behind `..;`, IIS takes a backslash or `%5c` for a slash, proxies decode once more than the server
    /// behind them, and some read overlong UTF-8 as a dot or a slash.
    package static func isDoubtfulPath(_ path: String) -> Bool {
        let bytes = path.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        for (index, byte) in bytes.enumerated() {
            if byte.isControl || byte == UInt8(ascii: "\\") { return true }
            guard byte == UInt8(ascii: "%") else { continue }
            let escape = String(decoding: bytes[index...].dropFirst().prefix(2), as: UTF8.self)
            if escape.utf8.first == UInt8(ascii: "0") || escape.utf8.first == UInt8(ascii: "1") { return true }
            if escape.hasPrefix("u") || ["25", "2e", "2f", "5c", "7f", "c0", "c1"].contains(escape) { return true }
        }
        return bytes.split(separator: UInt8(ascii: "/")).contains { segment in
            let rest = segment.drop { $0 == UInt8(ascii: ".") }
            guard rest.count < segment.count else { return false }
            return rest.first?.isAlphanumeric != true
        }
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
        default: byte.isAlphanumeric
        }
    }

    /// The digit for a value below 16, in upper case.
    package static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }

    /// The value of a digit of either case; `nil` for other bytes.
    package static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
