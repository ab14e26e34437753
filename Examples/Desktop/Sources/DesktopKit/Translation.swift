// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CAdwaita

/// The text in the person's language, where there is a translation; what `po/desktop.pot` is made of.
///
/// - Parameters:
///   - text: The English text, with `{0}`, `{1}` where values stand.
///   - values: What stands there.
public func tr(_ text: StaticString, _ values: String...) -> String {
    let english = text.description
    // Without a translation the answer is the very text that was given, which lives no longer than the call.
    let found = english.withCString { text in
        g_dgettext(Translation.domain, text).map { String(cString: $0) } ?? english
    }
    return Translation.filled(found, values)
}

enum Translation {
    static let domain = "identity-desktop"

    /// Takes the language from the environment. Translations are looked for in `$IDENTITY_DESKTOP_LOCALES`, else where
    /// the system has them.
    static func begin() {
        setlocale(LC_ALL, "")
        if let directory = g_getenv("IDENTITY_DESKTOP_LOCALES") { bindtextdomain(domain, directory) }
        bind_textdomain_codeset(domain, "UTF-8")
    }

    /// Puts the values in the places of `{0}`, `{1}` and so on, each in one step: a value is never searched for places.
    static func filled(_ text: String, _ values: [String]) -> String {
        var output = ""
        var rest = Substring(text)
        while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
            output += rest[..<open]
            let place = rest[rest.index(after: open)..<close]
            if let number = Int(place), values.indices.contains(number) {
                output += values[number]
            } else {
                output += rest[open...close]
            }
            rest = rest[rest.index(after: close)...]
        }
        return output + rest
    }
}
