// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import SystemSupport

/// The variables that stand in for options.
struct Variables: Sendable {
    private let lookup: @Sendable (String) -> String?
    /// The profile whose lines stand in for variables that are not set.
    private(set) var profile: Profile?

    /// The names of those that this program hides from every program it starts.
    static let secrets: Set = [variable(for: "client-secret")]

    init(_ variables: [String: String]) {
        lookup = { variables[$0] }
    }

    private init(lookup: @escaping @Sendable (String) -> String?) {
        self.lookup = lookup
    }

    /// The variables this process was started with. Each is read on demand.
    ///
    /// A program with raised rights (setgid, for example) reads none.
    static let process = Variables(lookup: SystemCall.environment)

    /// Whether the terminal takes only text: the program replaces no lines on it, and draws nothing.
    ///
    /// A screen reader is such a terminal. `ACCESSIBLE` is set for it.
    var isDumbTerminal: Bool {
        self["TERM"] == "dumb" || !["", "0", "false"].contains(self["ACCESSIBLE"]?.lowercased() ?? "")
    }

    /// Whether the terminal can show block characters: its characters are UTF-8, and its kind is known.
    var canDraw: Bool {
        let locale = (self["LC_ALL"] ?? self["LC_CTYPE"] ?? self["LANG"] ?? "").lowercased()
        return self["TERM"] != nil && !isDumbTerminal && (locale.contains("utf-8") || locale.contains("utf8"))
    }

    /// The directory that the system makes for each person's session; `nil` where it makes none.
    var runtimeDirectory: String? { self["XDG_RUNTIME_DIR"].flatMap { $0.hasPrefix("/") ? $0 : nil } }

    /// Whether a window can be shown.
    var hasScreen: Bool { self["WAYLAND_DISPLAY"] != nil || self["DISPLAY"] != nil }

    /// Whether that is this computer's own screen, and not one that SSH forwards.
    var hasScreenHere: Bool { self["WAYLAND_DISPLAY"] != nil || self["DISPLAY"]?.hasPrefix(":") == true }

    /// Whether the person has named a browser: for this tool, or for all programs (`BROWSER`). One that needs a terminal is none.
    ///
    /// - Throws: `UsageError` for a value that is no text.
    var namesBrowser: Bool {
        get throws {
            if try given("browser", nil) != nil { return true }
            return self["BROWSER"]?.split(separator: ":").contains { entry in
                let name = entry.split(separator: " ").first?.split(separator: "/").last ?? ""
                return !["", "browsh", "elinks", "links", "links2", "lynx", "w3m", "www-browser"].contains(name)
            } ?? false
        }
    }

    /// Whether the program writes text without colors. See <https://no-color.org>.
    var isColorless: Bool { self["NO_COLOR"] != nil || isDumbTerminal }

    /// Returns the same variables above the lines of a profile; `nil` for none.
    func above(_ profile: Profile?) -> Variables {
        var environment = self
        environment.profile = profile
        return environment
    }

    /// Returns the variables with another value for one of them; unchanged for `nil`.
    func replacing(_ name: String, with value: String?) -> Variables {
        guard let value else { return self }
        let lookup = lookup
        var environment = Variables(lookup: { $0 == name ? value : lookup($0) })
        environment.profile = profile
        return environment
    }

    /// Returns the variables without those that stand in for options, and without a profile.
    var withoutOptions: Variables {
        let lookup = lookup
        return Variables(lookup: { $0.hasPrefix("IDENTITYCTL_") ? nil : lookup($0) })
    }

    /// The agent that is named. Only a variable names one.
    var agent: Given? {
        self["IDENTITYCTL_AGENT"].map { Given(text: $0, origin: "IDENTITYCTL_AGENT") }
    }

    /// The absolute path in a variable; `nil` if it is unset, empty or relative. The specification of base directories says to ignore
    /// relative paths.
    ///
    /// - Throws: `UsageError` for a path that is no UTF-8.
    func path(_ name: String) throws -> String? {
        guard let path = self[name], path.hasPrefix("/") else { return nil }
        do {
            try FilePath.checkReadable(path, of: name)
        } catch let error as AuthenticationError {
            throw UsageError(error.message)
        }
        return path
    }

    /// The value of a variable; `nil` if the variable is unset or empty.
    subscript(name: String) -> String? {
        lookup(name).flatMap { $0.isEmpty ? nil : $0 }
    }
}

extension Variables {
    /// Returns the variable that stands in for an option: `IDENTITYCTL_CLIENT_ID` for `client-id`.
    static func variable(for name: String) -> String {
        "IDENTITYCTL_" + name.uppercased().map { $0 == "-" ? "_" : String($0) }.joined()
    }

    /// Returns the value given for the option `name`. The command line wins over the environment, and that over the
    /// profile.
    ///
    /// - Throws: `UsageError` if the command line gives an empty text, which is most often an unset shell variable.
    func given(_ name: String, _ option: String?) throws -> Given? {
        if let option {
            let given = Given(text: option, origin: "--\(name)")
            guard !option.isEmpty else { throw given.error("the value is empty.") }
            return given
        }
        let variable = Self.variable(for: name)
        return self[variable].map { Given(text: $0, origin: variable) } ?? profile?.given(name)
    }

    /// Returns the values given for an option that may be given several times, or as several words.
    func words(_ name: String, _ options: [String]) throws -> [String] {
        if !options.isEmpty {
            let words = options.flatMap { $0.split(whereSeparator: \.isWhitespace) }.map(String.init)
            guard !words.isEmpty else { throw UsageError("--\(name): the value is empty.") }
            return words
        }
        return try given(name, nil)?.words ?? []
    }

    /// Returns the values of an option that may be given several times. A variable has one in each word; a profile's line
    /// is one, and may have blanks.
    func each(_ name: String, _ options: [String]) -> [Given] {
        if !options.isEmpty { return options.map { Given(text: $0, origin: "--\(name)") } }
        let variable = Self.variable(for: name)
        guard let text = self[variable] else { return profile?.each(name) ?? [] }
        return text.split(whereSeparator: \.isWhitespace).map { Given(text: String($0), origin: variable) }
    }

    /// Returns the items of an option NAME=VALUE that may be given several times. Errors do not repeat their values.
    ///
    /// - Throws: `UsageError` for an item without a name, with a name in `reserved`, or given twice.
    func items(_ name: String, _ options: [String], reserved: Set<String>) throws -> [String: String] {
        var items: [String: String] = [:]
        for given in each(name, options) {
            let parts = given.text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(
                String.init
            )
            guard parts.count == 2, !parts[0].isEmpty else { throw given.error("give NAME=VALUE.") }
            let name = parts[0].printable
            guard !reserved.contains(parts[0]) else {
                throw given.error(
                    "'\(name)' is one that this command sets itself. 'identityctl login --help' lists its options."
                )
            }
            guard items.updateValue(parts[1], forKey: parts[0]) == nil else {
                throw given.error("'\(name)' is given twice, which a request does not allow.")
            }
        }
        return items
    }

    /// Returns the file that is named: an absolute path, or one in the home directory. A path on the command line may also be relative.
    ///
    /// - Throws: `UsageError`. A variable or a profile's line means the same file in every directory.
    func path(of file: Given) throws -> String {
        if file.text.hasPrefix("~/"), let home = self["HOME"] { return home + file.text.dropFirst() }
        guard file.isOption || file.text.hasPrefix("/") else {
            throw file.error("'\(file.text.printable)' is neither an absolute path nor in your home, with ~/.")
        }
        return file.text
    }

    /// Returns whether a switch is on: given on the command line, or `1`, `true`, `yes` or `on` in the environment or
    /// the profile.
    ///
    /// - Throws: `UsageError` if the value is none of these, nor `0`, `false`, `no` or `off`.
    func isOn(_ name: String, _ flag: Bool) throws -> Bool {
        guard !flag, let given = try given(name, nil) else { return flag }
        switch given.text.lowercased() {
        case "1", "true", "yes", "on": return true
        case "0", "false", "no", "off": return false
        default: throw given.error("'\(given.text.printable)' is neither 1 nor 0.")
        }
    }

    /// Returns whether errors are written as JSON. An invalid value of the variable counts as off, so that the error
    /// about that value can be written.
    func isJSON(_ flag: Bool) -> Bool {
        (try? isOn("json", flag)) ?? false
    }
}
