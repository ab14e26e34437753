// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CAdwaita
import FoundationEssentials

/// Returns the text in the person's language, if there is a translation. `po/desktop.pot` is made from the calls.
///
/// - Parameters:
///   - text: The English text, with `{0}`, `{1}` as placeholders.
///   - values: The values, in the order of their numbers.
public func tr(_ text: StaticString, _ values: String...) -> String {
    let english = text.description
    // Without a translation, the result is the pointer that was passed in, which is valid only during the call.
    let found = english.withCString { text in
        g_dgettext(Translation.domain, text).map { String(cString: $0) } ?? english
    }
    return Translation.filled(found, values)
}

enum Translation {
    static let domain = "identity-desktop"

    /// Whether the programs speak English to this person. Translators replace this text with the tag of their language.
    static var isEnglish: Bool { tr("en") == "en" }

    /// Sets the language from the environment. The directory of the translations is `$IDENTITY_DESKTOP_LOCALES`, or
    /// else `../share/locale` relative to the program's folder, or else the system's directory.
    static func begin() {
        setlocale(LC_ALL, "")
        if let directory { bindtextdomain(domain, directory) }
        bind_textdomain_codeset(domain, "UTF-8")
    }

    private static var directory: String? {
        let files = FileManager.default
        if let named = g_getenv("IDENTITY_DESKTOP_LOCALES") { return String(cString: named) }
        guard let program = try? files.destinationOfSymbolicLink(atPath: "/proc/self/exe") else { return nil }
        let prefix = URL(filePath: program).deletingLastPathComponent().deletingLastPathComponent()
        let directory = prefix.appending(path: "share/locale").path
        return files.fileExists(atPath: directory) ? directory : nil
    }

    /// Replaces `{0}`, `{1}` and so on with the values in one pass, so placeholders inside a value are not replaced.
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
