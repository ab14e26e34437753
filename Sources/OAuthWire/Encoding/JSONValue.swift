// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// One JSON value, as written.
///
/// Numbers keep their text: a server's `1.50` is written back as `1.50`, and no digit is lost in a `Double`.
/// - SeeAlso: [RFC 8259 §3](https://www.rfc-editor.org/rfc/rfc8259#section-3)
package enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)
}

extension JSONValue {
    /// A whole number.
    package static func integer(_ value: some BinaryInteger) -> JSONValue { .number(String(value)) }

    /// An array of strings.
    package static func strings(_ values: [String]) -> JSONValue { .array(values.map { .string($0) }) }

    /// Whether this is JSON's `null`, which servers write for "absent".
    package var isNull: Bool { self == .null }

    /// The text of a string value.
    package var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The whole number in a number (`3600`, `3600.0`) or in a string of digits (`"3600"`).
    ///
    /// Deviation: servers, Microsoft's among them, write `expires_in` and its like as strings.
    package var integer: Int? {
        switch self {
        case .number(let text): Self.wholeNumber(text)
        case .string(let text): text.utf8.first == UInt8(ascii: "+") ? nil : Int(text)
        default: nil
        }
    }

    /// The number rounded down; for instants such as `iat`.
    package var roundedDown: Int64? {
        guard case .number(let text) = self else { return integer.map { Int64($0) } }
        if let whole = Int64(text) { return whole }
        guard let value = Double(text), abs(value) <= Self.exactDoubles else { return nil }
        return Int64(value.rounded(.down))
    }

    /// The number rounded down, or the end of `range` that it lies beyond, however long it is.
    package func clamped(to range: ClosedRange<Int64>) -> Int64? {
        if let whole = roundedDown { return min(max(whole, range.lowerBound), range.upperBound) }
        let text: String
        switch self {
        case .number(let number): text = number
        // Digits that are too many for a whole number.
        case .string(let digits) where digits.utf8.drop { $0 == UInt8(ascii: "-") }.areDigits:
            text = digits
        default: return nil
        }
        guard let value = Double(text) else { return nil }
        return value < 0 ? range.lowerBound : range.upperBound
    }

    /// Every whole number up to this limit has its own `Double`.
    private static let exactDoubles = 9_007_199_254_740_992.0

    private static func wholeNumber(_ text: String) -> Int? {
        if let whole = Int(text) { return whole }
        guard let value = Double(text), abs(value) <= exactDoubles else { return nil }
        return Int(exactly: value)
    }
}
