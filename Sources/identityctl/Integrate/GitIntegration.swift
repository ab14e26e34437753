// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Git, set up by `git config --global`.
struct GitIntegration: Integration {
    let home: Home

    private var name: HelperLink { HelperLink("git-credential-identityctl", home) }
    var link: HelperLink? { name }

    func adding(_ subject: IntegrationSubject) async throws -> IntegrationPlan {
        let settings = try await settings()
        return IntegrationPlan(
            changes: try name.making() + settings.adding(subject.addresses).map(Change.run),
            notes: [name.obstacle].compactMap(\.self)
        )
    }

    func removing(_ subject: IntegrationSubject?) async throws -> IntegrationPlan {
        let settings = try await settings()
        let keys = settings.keys(of: subject?.addresses)
        let isNeeded = settings.keys(of: nil).count > keys.count
        return IntegrationPlan(
            changes: settings.removing(keys).map(Change.run) + (isNeeded ? [] : name.removing())
        )
    }

    func uses() async throws -> [IntegrationUse] {
        try await settings().keys(of: nil).map { IntegrationUse(label: GitSettings.address(of: $0)) }
    }

    private func settings() async throws -> GitSettings {
        let pattern = #"^credential\.(.*\.)?(helper|usehttppath)$"#
        // The status is 1 if there is no such setting.
        let words = ["git", "config", "--global", "-z", "--get-regexp", pattern]
        return GitSettings(parsing: try await home.run(words, accepting: [0, 1]))
    }
}

/// The settings for credentials in a person's git configuration.
///
/// - SeeAlso: [gitcredentials](https://git-scm.com/docs/gitcredentials), "CONFIGURATION OPTIONS"
struct GitSettings: Sendable {
    private static let helper = "identityctl"
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
    /// or would keep the token in a file.
    /// - Throws: `UsageError` if an address has another helper.
    func adding(_ addresses: [ServedAddress]) throws -> [[String]] {
        try addresses.flatMap { address in
            let key = Self.key(of: address)
            let helpers = self[key]
            if let other = helpers.first(where: { !["", Self.helper].contains($0) }) {
                let removal = Home.line(Self.change + ["--unset-all", key])
                throw UsageError(
                    "Git asks '\(other.printable)' for \(address.text) already. If identityctl shall answer, first run: \(removal)"
                )
            }
            var commands: [[String]] = []
            if helpers.isEmpty { commands.append(Self.change + ["--add", key, ""]) }
            if !helpers.contains(Self.helper) { commands.append(Self.change + ["--add", key, Self.helper]) }
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
            let isAlone = self[key].allSatisfy { ["", Self.helper].contains($0) }
            var commands = [Self.change + ["--unset-all", key] + (isAlone ? [] : ["^\(Self.helper)$"])]
            let path = Self.pathKey(of: key)
            if isAlone, self[path] == ["true"] { commands.append(Self.change + ["--unset-all", path]) }
            return commands
        }
    }

    /// Returns the keys among whose helpers this program is: those of the addresses, or all if `addresses` is `nil`.
    func keys(of addresses: [ServedAddress]?) -> [String] {
        var keys: [String] = []
        for (key, value) in values where value == Self.helper && key.hasSuffix(".helper") && !keys.contains(key) {
            keys.append(key)
        }
        guard let addresses else { return keys }
        let wanted = Set(addresses.map(Self.key))
        return keys.filter(wanted.contains)
    }

    /// Returns the address in a key; the word "all" for the key without one.
    static func address(of key: String) -> String {
        let address = key.dropFirst("credential.".count).dropLast(".helper".count)
        return address.isEmpty ? "all addresses" : String(address)
    }

    private subscript(key: String) -> [String] { values.filter { $0.key == key }.map(\.value) }

    private static func key(of address: ServedAddress) -> String { "credential.\(address.text).helper" }

    private static func pathKey(of key: String) -> String { "\(key.dropLast("helper".count))usehttppath" }
}
