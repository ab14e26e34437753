// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension StringProtocol {
    /// The text without what a terminal would obey: control characters become the replacement character.
    var printable: String {
        var text = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: text.append("\u{FFFD}")
            default: text.append(scalar)
            }
        }
        return String(text)
    }
}
