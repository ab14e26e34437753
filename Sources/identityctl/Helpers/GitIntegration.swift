// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import SystemSupport

extension IntegratedTool {
    static let git = IntegratedTool(name: "git") { GitIntegration(home: $0) }
}

/// Git, set up by `git config --global`.
struct GitIntegration: Integration {
    let home: Home

    private var name: HelperLink { HelperLink(.git, home) }
    var link: HelperLink? { name }

    func adding(_ subject: IntegrationSubject) async throws -> IntegrationPlan {
        try Self.checkFiles(home)
        let settings = try await settings()
        let commands = try settings.adding(subject.addresses, helper: helper, leadsHere: leadsHere)
        let changes = try name.making() + commands.map(Change.run)
        let helpers = try await helpers()
        return IntegrationPlan(
            changes: changes,
            notes: settings.keys(of: subject.addresses).compactMap { helpers.problem(GitSettings.address(of: $0)) }
                + [name.obstacle].compactMap(\.self)
        )
    }

    func removing(_ subject: IntegrationSubject?) async throws -> IntegrationPlan {
        try Self.checkFiles(home)
        let settings = try await settings()
        let keys = settings.keys(of: subject?.addresses)
        let isNeeded = settings.keys(of: nil).count > keys.count
        return IntegrationPlan(
            changes: settings.removing(keys).map(Change.run) + (isNeeded ? [] : name.removing())
        )
    }

    func uses() async throws -> [IntegrationUse] {
        let settings = try await settings()
        let keys = settings.keys(of: nil)
        guard !keys.isEmpty else { return [] }
        let helpers = try await helpers()
        return keys.map { key in
            let address = GitSettings.address(of: key)
            let stray = settings.stray(key, leadsHere: leadsHere)
            return IntegrationUse(
                label: address,
                obstacle: stray.map { "Git calls \($0.printable), which is not this program." },
                problem: helpers.problem(address)
            )
        }
    }

    /// Refuses a configuration that is no plain file, such as `/dev/null`: run as root, git puts a file in its place.
    ///
    /// - Throws: `UsageError` that names it.
    static func checkFiles(_ home: Home) throws {
        let name = "GIT_CONFIG_GLOBAL"
        let files =
            home.environment[name].map { [$0] } ?? ["\(home.path)/.gitconfig", "\(home.configuration)/git/config"]
        for path in files {
            guard let status = try SystemCall.status(of: path, followingLinks: true), status.kind != .file else {
                continue
            }
            throw UsageError(
                "\(path.printable), where git would keep its settings, is no plain file. Remove it"
                    + (home.environment[name] == nil ? "." : " from \(name): unset \(name)")
            )
        }
    }

    /// Whether a path in git's configuration leads to this program.
    private func leadsHere(_ path: String) -> Bool { home.isThisProgram(path) }

    /// The helper's name in git's configuration. It is the link's path, except for a package's: `PATH` is short in cron and in
    /// systemd's units.
    private var helper: String {
        let path = (name.isFound ? home.find(name.name) : nil) ?? name.path
        return ["/usr/bin/\(name.name)", "/bin/\(name.name)"].contains(path)
            ? GitSettings.helper : GitSettings.word(path)
    }

    private func settings() async throws -> GitSettings {
        let pattern = #"^credential\.(.*\.)?(helper|usehttppath)$"#
        // The status is 1 if there is no such setting.
        let words = ["git", "config", "--global", "-z", "--get-regexp", pattern]
        return GitSettings(parsing: try await home.run(words, accepting: [0, 1]))
    }

    /// The helpers of all configurations that count in this directory.
    private func helpers() async throws -> GitHelpers {
        let words = ["git", "config", "--show-origin", "-z", "--get-regexp", #"^credential\.(.*\.)?helper$"#]
        return GitHelpers(parsing: try await home.run(words, accepting: [0, 1]))
    }
}

/// The settings for credentials in a person's git configuration.
///
/// - SeeAlso: [gitcredentials](https://git-scm.com/docs/gitcredentials), "CONFIGURATION OPTIONS"
struct GitSettings: Sendable {
    static let helper = "identityctl"
    private static let change = ["git", "config", "--global"]

    /// The keys as git writes them, with their values in order.
    private var values: [(key: String, value: String)] = []

    /// - Parameter bytes: The output of `git config -z --get-regexp`.
    init(parsing bytes: [UInt8]) {
        for record in bytes.split(separator: 0) {
            let parts = record.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
            // A key without a value is true.
            let value = parts.count == 2 ? String(decoding: parts[1], as: UTF8.self) : "true"
            values.append((String(decoding: parts[0], as: UTF8.self), value))
        }
    }

    /// Returns the commands that make this program the only helper for the addresses, as far as it is not.
    ///
    /// An empty value comes first: git then forgets the helpers that are set for all addresses, which would be asked before,
    /// or would keep the token in a file. A path of this program that leads there no more gives way.
    /// - Throws: `UsageError` if an address has another helper.
    func adding(_ addresses: [ServedAddress], helper: String, leadsHere: (String) -> Bool) throws -> [[String]] {
        try addresses.flatMap { address in
            let key = Self.key(of: address)
            let helpers = self[key]
            if let other = helpers.first(where: { !$0.isEmpty && !Self.isOwn($0) }) {
                let removal = Home.line(Self.change + ["--unset-all", key])
                throw UsageError(
                    "Git asks '\(other.printable)' for \(address.text) already. If identityctl shall answer, first run: \(removal)"
                )
            }
            var commands: [[String]] = []
            if helpers.isEmpty { commands.append(Self.change + ["--add", key, ""]) }
            let strays = helpers.filter { $0 != helper && Self.path(of: $0).map { !leadsHere($0) } ?? false }
            commands += strays.map { Self.change + ["--unset-all", key, Self.pattern($0)] }
            if !helpers.contains(where: { Self.isOwn($0) && !strays.contains($0) }) {
                commands.append(Self.change + ["--add", key, helper])
            }
            guard address.depth > 0 else { return commands }
            let path = Self.pathKey(of: key)
            switch self[path].last?.lowercased() {
            case nil: commands.append(Self.change + [path, "true"])
            case "true", "yes", "on", "1": break
            default:
                throw UsageError(
                    "Git sends no path for \(address.text), as \(path) is off. First run: "
                        + Home.line(Self.change + ["--unset-all", path])
                )
            }
            return commands
        }
    }

    /// Returns the commands that remove this program from the helpers of `keys`.
    func removing(_ keys: [String]) -> [[String]] {
        keys.flatMap { key in
            let own = self[key].filter(Self.isOwn)
            let isAlone = self[key].allSatisfy { $0.isEmpty || own.contains($0) }
            let patterns = isAlone ? [[]] : own.map { [Self.pattern($0)] }
            var commands = patterns.map { Self.change + ["--unset-all", key] + $0 }
            let path = Self.pathKey(of: key)
            if isAlone, self[path] == ["true"] { commands.append(Self.change + ["--unset-all", path]) }
            return commands
        }
    }

    /// Returns the keys among whose helpers this program is: those of the addresses, or all if `addresses` is `nil`.
    func keys(of addresses: [ServedAddress]?) -> [String] {
        var keys: [String] = []
        for (key, value) in values where Self.isOwn(value) && key.hasSuffix(".helper") && !keys.contains(key) {
            keys.append(key)
        }
        guard let addresses else { return keys }
        let wanted = Set(addresses.map(Self.key))
        return keys.filter(wanted.contains)
    }

    /// Returns the path that git calls for a key in place of this program; `nil` if it calls this program.
    func stray(_ key: String, leadsHere: (String) -> Bool) -> String? {
        self[key].lazy.compactMap(Self.path).first { !leadsHere($0) }
    }

    /// Returns the address in a key; the word "all" for the key without one.
    static func address(of key: String) -> String {
        let address = key.dropFirst("credential.".count).dropLast(".helper".count)
        return address.isEmpty ? "all addresses" : String(address)
    }

    /// Whether the value is one that this program writes, now or in an earlier version.
    private static func isOwn(_ value: String) -> Bool {
        value == helper || path(of: value) != nil
    }

    /// Returns the path in a value of ``word(_:)``; `nil` for any other value.
    private static func path(of value: String) -> String? {
        guard value.hasPrefix("/"), value.hasSuffix("/git-credential-identityctl") else { return nil }
        var bytes: [UInt8] = []
        var isEscaped = false
        for byte in value.utf8 {
            if byte == UInt8(ascii: "\\"), !isEscaped { isEscaped = true; continue }
            bytes.append(byte)
            isEscaped = false
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns a path as one word of the shell by which git starts it. It keeps its first slash, because git puts a prefix
    /// before another word.
    static func word(_ path: String) -> String {
        let plain = path.utf8.flatMap { byte -> [UInt8] in
            byte.isAlphanumeric || byte >= 0x80 || "/._-+@%".utf8.contains(byte) ? [byte] : [UInt8(ascii: "\\"), byte]
        }
        return String(decoding: plain, as: UTF8.self)
    }

    /// Returns the pattern that git takes for exactly this value.
    static func pattern(_ value: String) -> String {
        let bytes = value.utf8.flatMap { byte -> [UInt8] in
            "\\.[]()*+?{}|^$".utf8.contains(byte) ? [UInt8(ascii: "\\"), byte] : [byte]
        }
        return "^\(String(decoding: bytes, as: UTF8.self))$"
    }

    private subscript(key: String) -> [String] { values.filter { $0.key == key }.map(\.value) }

    private static func key(of address: ServedAddress) -> String { "credential.\(address.text).helper" }

    private static func pathKey(of key: String) -> String { "\(key.dropLast("helper".count))usehttppath" }
}

/// The helpers that git asks, in the order of its configuration files, and gives each token to keep.
///
/// - SeeAlso: [gitcredentials](https://git-scm.com/docs/gitcredentials), "CUSTOM HELPERS"
struct GitHelpers: Sendable {
    private struct Helper: Sendable {
        let origin: String
        let key: String
        let value: String

        /// Whether this program answers.
        var isOwn: Bool {
            let word = value.prefix { $0 != " " }
            return ["identityctl", "!identityctl"].contains(word) || word.hasSuffix("/identityctl")
                || value.utf8.firstRange(of: "git-credential-identityctl".utf8) != nil
        }

        /// The part of the key that says for which addresses the helper is.
        var pattern: Substring { key.dropFirst("credential.".count).dropLast(".helper".count) }
    }

    private var helpers: [Helper] = []

    /// - Parameter bytes: The output of `git config --show-origin -z --get-regexp`.
    init(parsing bytes: [UInt8]) {
        let records = bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
        for (origin, record) in zip(records, records.dropFirst()) where record.hasPrefix("credential.") {
            let parts = record.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            helpers.append(Helper(origin: origin, key: parts[0], value: parts.count == 2 ? parts[1] : ""))
        }
    }

    /// Returns what is wrong with the helpers for an address, and what to do; `nil` if this program is the only one.
    ///
    /// - Parameter address: A part of a key that names this program.
    func problem(_ address: String) -> String? {
        var asked: [Helper] = []
        for helper in helpers where Self.fits(helper.pattern, address) {
            if helper.value.isEmpty { asked = [] } else { asked.append(helper) }
        }
        guard asked.contains(where: \.isOwn) else {
            return "Another file of git's configuration makes git forget identityctl for \(address.printable). "
                + "See: git config --show-origin --get-all credential.helper"
        }
        guard let other = asked.first(where: { !$0.isOwn }) else { return nil }
        let place = other.origin.hasPrefix("file:") ? ["--file", String(other.origin.dropFirst(5))] : []
        let removal = ["git", "config"] + place + ["--unset-all", other.key, GitSettings.pattern(other.value)]
        return
            "Git also gives the token for \(address.printable) to '\(other.value.printable)', which may keep it in clear "
            + "text. To end that, run: \(Home.line(removal))"
    }

    /// Whether a helper's pattern is for an address: none at all is for each; otherwise the scheme, if there is one, the
    /// host, in which `*` stands for a label, and the beginning of the path.
    private static func fits(_ pattern: Substring, _ address: String) -> Bool {
        guard !pattern.isEmpty, pattern != address else { return true }
        let (wanted, own) = (parts(pattern), parts(address[...]))
        guard wanted.scheme == nil || wanted.scheme == own.scheme, wanted.labels.count == own.labels.count else {
            return false
        }
        return zip(wanted.labels, own.labels).allSatisfy { $0 == "*" || $0 == $1 } && own.path.starts(with: wanted.path)
    }

    private static func parts(_ text: Substring) -> (scheme: Substring?, labels: [Substring], path: [Substring]) {
        let scheme = text.firstRange(of: "://")
        let segments = text[(scheme?.upperBound ?? text.startIndex)...].split(separator: "/")
        let host = segments.first?.split(separator: "@").last ?? ""
        return (scheme.map { text[..<$0.lowerBound] }, host.split(separator: "."), Array(segments.dropFirst()))
    }
}
