// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The text of an option, and the place where it was given. Errors about the option name that place.
struct Given: Hashable, Sendable {
    let text: String
    /// `--timeout`, or `IDENTITYCTL_TIMEOUT`, or a profile's file and line.
    let origin: String
    /// The account that the text names, if it is that of a profile's first sign-in.
    var account: ProfileAccount?

    /// Whether the text comes from the command line. A variable may be set for other commands.
    var isOption: Bool { origin.hasPrefix("--") }

    /// Whether the text stands on the command line, as an option or as the address that is called.
    var isOfCall: Bool { isOption || origin == Self.calledAddress }

    /// The origin of an address that a command calls.
    static let calledAddress = "the address"

    /// The text as a person knows it. Harmless to a terminal.
    var label: String { account?.label ?? text.printable }

    /// The words of the text, which spaces or lines separate.
    var words: [String] { text.split(whereSeparator: \.isWhitespace).map(String.init) }

    /// Returns the text as a time of at most a day.
    func seconds(from least: Int) throws -> Duration {
        guard let seconds = Int(text), (least...86_400).contains(seconds) else {
            throw error("'\(text.printable)' is not a whole number of seconds from \(least) to 86400 (a day).")
        }
        return .seconds(seconds)
    }

    /// The text as a time such as `30s`, `15m` or `8h`, at most a day; `nil` for any other text.
    var time: Duration? {
        let units: [Character: Int] = ["s": 1, "m": 60, "h": 3600]
        guard let unit = text.last.flatMap({ units[$0] }), let number = Int(text.dropLast()), number >= 0,
            number <= 86_400 / unit
        else { return nil }
        return .seconds(number * unit)
    }

    func error(_ message: String) -> UsageError {
        UsageError("\(origin): \(message)")
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
