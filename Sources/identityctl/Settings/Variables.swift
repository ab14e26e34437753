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
