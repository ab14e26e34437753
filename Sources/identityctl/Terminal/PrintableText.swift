// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import SystemSupport

extension StringProtocol {
    /// The text without terminal commands: control characters become the replacement character.
    var printable: String {
        var text = String.UnicodeScalarView()
        for scalar in unicodeScalars { text.append(scalar.isPrintable ? scalar : "\u{FFFD}") }
        return String(text)
    }

    /// The same JSON, with the characters that a terminal would obey written as `\uXXXX`.
    var printableJSON: String {
        guard !unicodeScalars.allSatisfy(\.isPrintable) else { return String(self) }
        var text = ""
        for scalar in unicodeScalars {
            if scalar.isPrintable {
                text.unicodeScalars.append(scalar)
            } else {
                for unit in String(scalar).utf16 { text += unit.jsonEscape }
            }
        }
        return text
    }
}

extension Unicode.Scalar {
    /// Whether a terminal only shows the character.
    fileprivate var isPrintable: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }
}

extension UInt16 {
    fileprivate var jsonEscape: String {
        let digits = String(self, radix: 16, uppercase: true)
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
}

extension CText {
    /// The bytes without the NUL, as text for a person.
    var text: String { String(decoding: dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self).printable }
}
