// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// The person's default browser, as the desktop's files name it. No program is started to ask.
///
/// - SeeAlso: [MIME Applications](https://specifications.freedesktop.org/mime-apps-spec/latest/),
///   [Desktop Entry Specification](https://specifications.freedesktop.org/desktop-entry-spec/latest/)
package struct DefaultBrowser {
    private static let type = "x-scheme-handler/https"
    private static let sizeLimit = 4 << 20

    /// The name of the entry, such as `firefox.desktop`; `nil` if there is none.
    package let entry: String?
    /// The program, and for `flatpak` its arguments.
    package let command: BrowserCommand?

    package init(_ environment: LaunchEnvironment) {
        let places = Places(environment)
        let chosen = places.choices.flatMap { Self.entries(in: $0, "Default Applications") }
        let known = places.caches.flatMap { Self.entries(in: $0, "MIME Cache") }
        for name in chosen + known {
            for directory in places.applications {
                let members = Self.members(of: "\(directory)/\(name)", "Desktop Entry")
                guard let exec = members["Exec"], members["Hidden"] != "true" else { continue }
                entry = name
                command = Self.command(Self.words(of: exec))
                return
            }
        }
        (entry, command) = (nil, nil)
    }

    private static func entries(in list: String, _ section: String) -> [String] {
        let names = (members(of: list, section)[type] ?? "").unicodeScalars.split(separator: ";").map(String.init)
        return names.filter { $0.hasSuffix(".desktop") && !$0.utf8.contains(UInt8(ascii: "/")) && !$0.hasPrefix(".") }
    }

    /// Returns the members of a section, without those in other languages. A file that cannot be read has none.
    private static func members(of path: String, _ section: String) -> [String: String] {
        guard let file = FileManager.default.contents(atPath: path), file.count <= sizeLimit else { return [:] }
        var members: [String: String] = [:]
        var isInSection = false
        for line in file.split(separator: UInt8(ascii: "\n")) {
            guard let text = String(validating: line, as: UTF8.self), !text.hasPrefix("#") else { continue }
            if text.hasPrefix("[") {
                isInSection = text.hasPrefix("[\(section)]")
            } else if isInSection, let sign = text.firstIndex(of: "=") {
                let name = text[..<sign].trimmingPrefix(while: \.isWhitespace)
                let value = text[text.index(after: sign)...].trimmingPrefix(while: \.isWhitespace)
                members[name.split(separator: " ").first.map(String.init) ?? ""] = String(value)
            }
        }
        return members
    }

    /// Returns the words of `Exec`, without field codes such as `%u`.
    static func words(of exec: String) -> [String] {
        var words: [String] = []
        var word: String?
        var isQuoted = false
        // Escaped for the value, and in quotes once more for the argument.
        var rest = exec.replacing("\\\\", with: "\\").unicodeScalars[...]
        while let scalar = rest.popFirst() {
            switch scalar {
            case "\"":
                isQuoted.toggle()
                word = word ?? ""
            case "\\" where isQuoted: word = (word ?? "") + (rest.popFirst().map { String($0) } ?? "")
            case " " where !isQuoted, "\t" where !isQuoted, "\r" where !isQuoted:
                if let word { words.append(word) }
                word = nil
            case "%" where !isQuoted:
                if rest.popFirst() == "%" { word = (word ?? "") + "%" }
            default: word = (word ?? "") + String(scalar)
            }
        }
        return words + [word].compactMap(\.self)
    }

    private static func command(_ words: [String]) -> BrowserCommand? {
        var words = words[...]
        // A snap's entry sets a variable first.
        if words.first == "env" || words.first == "/usr/bin/env" {
            words = words.dropFirst().drop { $0.contains("=") }
        }
        guard let program = words.first else { return nil }
        let isFlatpak = program == "flatpak" || program.hasSuffix("/flatpak")
        return BrowserCommand(program: program, arguments: isFlatpak ? Array(words.dropFirst()) : [])
    }

    /// The files of the desktop, those that count first in front.
    private struct Places {
        let choices: [String]
        let caches: [String]
        let applications: [String]

        init(_ environment: LaunchEnvironment) {
            let home = environment.value("HOME")
            func directories(_ own: String, _ below: String, _ shared: String, _ standard: String) -> [String] {
                let own = environment.value(own) ?? home.map { "\($0)/\(below)" }
                let shared = (environment.value(shared) ?? standard).split(separator: ":").map(String.init)
                // The specification says to ignore relative paths.
                return ([own].compactMap(\.self) + shared).filter { $0.hasPrefix("/") }
            }
            let config = directories("XDG_CONFIG_HOME", ".config", "XDG_CONFIG_DIRS", "/etc/xdg")
            applications = directories("XDG_DATA_HOME", ".local/share", "XDG_DATA_DIRS", "/usr/local/share:/usr/share")
                .map { "\($0)/applications" }
            let desktops = (environment.value("XDG_CURRENT_DESKTOP") ?? "").lowercased().split(separator: ":")
                .filter { !$0.utf8.contains(UInt8(ascii: "/")) }
            choices = (config + applications).flatMap { directory in
                desktops.map { "\(directory)/\($0)-mimeapps.list" } + ["\(directory)/mimeapps.list"]
            }
            caches = applications.map { "\($0)/mimeinfo.cache" }
        }
    }
}
