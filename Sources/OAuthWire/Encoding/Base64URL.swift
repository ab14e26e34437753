// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Base64 with the URL-safe alphabet and without padding.
/// - SeeAlso: [RFC 4648 §5](https://www.rfc-editor.org/rfc/rfc4648#section-5),
///   [RFC 7515 appendix C](https://www.rfc-editor.org/rfc/rfc7515#appendix-C)
package enum Base64URL {
    /// `bytes` in base64url.
    package static func encode(_ bytes: [UInt8]) -> String {
        var output: [UInt8] = []
        output.reserveCapacity((bytes.count * 4 + 2) / 3)
        var index = 0
        while index < bytes.count {
            let count = min(3, bytes.count - index)
            var group: UInt32 = 0
            for offset in 0..<3 { group = group << 8 | (offset < count ? UInt32(bytes[index + offset]) : 0) }
            for digit in 0...count { output.append(alphabet[Int(group >> (18 - 6 * UInt32(digit))) & 63]) }
            index += 3
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// The decoded bytes of `text`; `nil` for padding, white space, other characters, or nonzero unused bits.
    ///
    /// Given bytes have exactly one text, so that a signed text cannot change without a change of its bytes.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        decode(Array(String(text).utf8)[...], isStrict: true)
    }

    /// The decoded bytes of `text` in either alphabet, with or without padding.
    ///
    /// Deviation: `client_info`, claims challenges and published keys come in both forms, and base64 writers differ in the
    /// last bits.
    package static func decodeLenient(_ text: some StringProtocol) -> [UInt8]? {
        let bytes = Array(String(text).utf8)
        let padding = bytes.suffix(2).reversed().prefix { $0 == UInt8(ascii: "=") }.count
        return decode(bytes.dropLast(padding), isStrict: false)
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    private static func decode(_ text: ArraySlice<UInt8>, isStrict: Bool) -> [UInt8]? {
        var output: [UInt8] = []
        output.reserveCapacity(text.count * 3 / 4)
        var group: UInt32 = 0
        var bits = 0
        for byte in text {
            guard let value = value(of: byte, isStrict: isStrict) else { return nil }
            group = (group << 6 | UInt32(value)) & 0xFFF
            bits += 6
            if bits >= 8 {
                bits -= 8
                output.append(UInt8(truncatingIfNeeded: group >> UInt32(bits)))
            }
        }
        // Six bits left over are a lone last character; the rest must be zero in the one canonical text.
        guard bits < 6, !isStrict || group & (1 << UInt32(bits) - 1) == 0 else { return nil }
        return output
    }

    private static func value(of byte: UInt8, isStrict: Bool) -> UInt8? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0") + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        case UInt8(ascii: "+") where !isStrict: 62
        case UInt8(ascii: "/") where !isStrict: 63
        default: nil
        }
    }
}
