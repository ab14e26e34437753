// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The kinds of signs of ASCII. Each rule about a text's bytes is made of them.
extension UInt8 {
    /// Whether this is a sign that one sees: neither a space nor a control character.
    package var isVisible: Bool { (0x21...0x7E).contains(self) }

    /// Whether this is a visible sign or a space.
    package var isPrintable: Bool { self == 0x20 || isVisible }

    /// Whether this is a control character, such as a line's end. A byte beyond ASCII is none.
    package var isControl: Bool { self < 0x20 || self == 0x7F }

    /// Whether a field of HTTP can hold this: a tab, or what is no control character.
    /// - SeeAlso: [RFC 9110 §5.5](https://www.rfc-editor.org/rfc/rfc9110#section-5.5)
    package var isFieldText: Bool { !isControl || self == 0x09 }

    /// Whether this is a decimal digit.
    package var isDigit: Bool { (0x30...0x39).contains(self) }

    /// Whether this is a hexadecimal digit, in either case.
    package var isHexadecimal: Bool { isDigit || (0x61...0x66).contains(self | 0x20) }

    /// Whether this is a letter or a digit.
    package var isAlphanumeric: Bool { isDigit || (0x61...0x7A).contains(self | 0x20) }
}

extension Sequence<UInt8> {
    /// Whether all are visible signs. Tokens and addresses are such texts.
    package var areVisible: Bool { allSatisfy(\.isVisible) }

    /// Whether all are visible signs or spaces.
    package var arePrintable: Bool { allSatisfy(\.isPrintable) }

    /// Whether there is a control character.
    package var hasControls: Bool { contains(where: \.isControl) }

    /// Whether all are decimal digits.
    package var areDigits: Bool { allSatisfy(\.isDigit) }

    /// Whether all are letters and digits, or among `others`.
    package func areAlphanumeric(or others: String) -> Bool {
        allSatisfy { $0.isAlphanumeric || others.utf8.contains($0) }
    }
}

extension Unicode.Scalar {
    /// Whether this is a control character of Unicode: those of ASCII, and the 32 behind it, which terminals obey as well.
    package var isControl: Bool { value < 0x20 || (0x7F..<0xA0).contains(value) }
}
