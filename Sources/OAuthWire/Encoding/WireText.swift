// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Rules for text from a server.
package enum WireText {
    /// The maximum number of characters that are kept of a server's text.
    static let maximumLength = 1_000

    /// `text` on one line, without control, direction-changing and invisible characters, cut after 1,000 characters.
    ///
    /// Such text appears in logs and terminals, where an escape sequence would be executed and a line break would start
    /// a forged entry.
    package static func clean(_ text: String) -> String {
        var output = String.UnicodeScalarView()
        var count = 0
        for scalar in text.unicodeScalars where count < maximumLength {
            switch scalar.value {
            case 0x09, 0x0A, 0x0D, 0x2028, 0x2029:
                guard let last = output.last, last != " " else { continue }
                output.append(" ")
            case _ where scalar.isControl || scalar.properties.generalCategory == .format:
                continue
            default:
                output.append(scalar)
            }
            count += 1
        }
        return String(output)
    }

    /// `text` between single quotation marks, for a sentence of ours, cut after `limit` characters. Quotation marks in it become
    /// `*`, so that it cannot close the quotation and go on as our words.
    package static func quoted(_ text: String, upTo limit: Int = 200) -> String {
        let scalars = clean(text).unicodeScalars.prefix(limit).map { isQuotationMark($0) ? "*" : $0 }
        return "'\(String(String.UnicodeScalarView(scalars)))'"
    }

    /// A name that a server chose, for a line of its own: without quotation marks and ends of sentences, with single spaces, and
    /// cut after 80 characters; `nil` if nothing is left. A dot stays within a word, as in `example.com` or `2.0`.
    package static func name(_ text: String) -> String? {
        let scalars = Array(clean(text).unicodeScalars)
        var kept = String.UnicodeScalarView()
        for (index, scalar) in scalars.enumerated() {
            let properties = scalar.properties
            guard !isQuotationMark(scalar), !properties.isDefaultIgnorableCodePoint else { continue }
            let next = index + 1 < scalars.count ? scalars[index + 1].properties : nil
            let isWithinWord = scalar == "." && (next?.isLowercase == true || next?.numericType != nil)
            let isSpace = properties.isWhitespace || properties.isSentenceTerminal && !isWithinWord
            if !isSpace { kept.append(scalar) } else if let last = kept.last, last != " " { kept.append(" ") }
            if kept.count == 80 { break }
        }
        if kept.last == " " { kept.removeLast() }
        return kept.isEmpty ? nil : String(kept)
    }

    private static func isQuotationMark(_ scalar: Unicode.Scalar) -> Bool {
        // The rest are look-alikes that Unicode does not count.
        scalar.properties.isQuotationMark || "`´ʹʺʻʼʽ′″‴‵‶❛❜❝❞".unicodeScalars.contains(scalar)
    }

    /// Whether `text` is visible ASCII that begins with a scheme and a colon, and goes on.
    /// - SeeAlso: [RFC 3986 §3.1](https://www.rfc-editor.org/rfc/rfc3986#section-3.1)
    package static func isAbsoluteURI(_ text: String) -> Bool {
        guard text.utf8.areVisible, let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return false }
        let (scheme, rest) = (text.utf8[..<colon], text.utf8[colon...])
        return rest.count > 1 && scheme.first.map { (0x61...0x7A).contains($0 | 0x20) } == true
            && scheme.areAlphanumeric(or: "+-.")
    }

    /// Whether two texts have the same bytes. `==` also treats canonically equivalent texts as equal.
    /// - SeeAlso: [OpenID Connect Core §14](https://openid.net/specs/openid-connect-core-1_0.html#StringOperations)
    package static func areSame(_ first: some StringProtocol, _ second: some StringProtocol) -> Bool {
        first.utf8.elementsEqual(second.utf8)
    }

    /// The same, almost as fast as `==` if the texts are ASCII: a text that is equal to ASCII and has other bytes has
    /// more bytes.
    package static func areSame(_ first: String, _ second: String) -> Bool {
        guard first == second, first.utf8.count == second.utf8.count else { return false }
        return first.utf8Span.isKnownASCII || first.utf8.elementsEqual(second.utf8)
    }

    /// The words of a space-separated list.
    package static func words(_ text: String) -> [String] {
        text.split { $0 == " " || $0 == "\t" || $0 == "\n" || $0 == "\r" }.map(String.init)
    }
}
