// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Rules for text that came from a server.
package enum WireText {
    /// How many characters of a server's words are kept.
    static let maximumLength = 1_000

    /// `text` on one line, without control and direction-changing characters, cut after 1,000 characters.
    ///
    /// Such text ends up in logs and terminals, where an escape sequence would be carried out and a line break would
    /// start a forged entry.
    package static func clean(_ text: String) -> String {
        var output = String.UnicodeScalarView()
        var count = 0
        for scalar in text.unicodeScalars where count < maximumLength {
            switch scalar.value {
            case 0x09, 0x0A, 0x0D, 0x2028, 0x2029:
                guard let last = output.last, last != " " else { continue }
                output.append(" ")
            case 0..<0x20, 0x7F..<0xA0, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069, 0xFEFF:
                continue
            default:
                output.append(scalar)
            }
            count += 1
        }
        return String(output)
    }

    /// Whether `text` is all visible ASCII, without a space: what may stand in a header or a URL.
    static func isVisibleASCII(_ text: String) -> Bool { text.utf8.allSatisfy { (0x21...0x7E).contains($0) } }

    /// The words of a space-separated list.
    static func words(_ text: String) -> [String] {
        text.split { $0 == " " || $0 == "\t" || $0 == "\n" || $0 == "\r" }.map(String.init)
    }
}
