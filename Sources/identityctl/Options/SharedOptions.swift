// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import OAuthWire
import SystemSupport

/// The options of a command that other commands take as well. Advice can then name a complete command.
///
/// They are the options of the command line only, because the next command reads the same variables.
struct SharedOptions: Hashable, Sendable {
    private struct Item: Hashable {
        let name: String
        /// `nil` for an option without a value.
        let value: String?
    }

    private var items: [Item] = []

    init() {}

    /// Returns the options with another value for one of them.
    func replacing(_ name: String, with value: String) -> SharedOptions {
        var options = self
        options.items.removeAll { $0.name == name }
        options.add(name, value)
        return options
    }

    /// Returns the options without one of them.
    func without(_ name: String) -> SharedOptions {
        var options = self
        options.items.removeAll { $0.name == name }
        return options
    }

    /// The options that name the provider and the group.
    var ofProvider: SharedOptions {
        var options = self
        options.items.removeAll { ["--cache", "--scope", "--claims", "--account", "--scheme"].contains($0.name) }
        return options
    }

    /// The options that name the provider, the group and the store.
    var ofProviderAndCache: SharedOptions {
        var options = self
        options.items.removeAll { ["--scope", "--claims", "--account", "--scheme"].contains($0.name) }
        return options
    }

    /// Returns the options with an API's demands of the sign-in.
    func meeting(_ challenge: ResourceChallenge) -> SharedOptions {
        var options = self
        // These are added to every sign-in.
        let scopes = challenge.scopes.subtracting([.openID, .profile, .offlineAccess]).map(\.rawValue).sorted()
        if !scopes.isEmpty { options = options.replacing("--scope", with: scopes.joined(separator: " ")) }
        if !challenge.acrValues.isEmpty {
            options.add("--acr-values", challenge.acrValues.joined(separator: " "))
        }
        // A longer time than the option allows is met by the longest that it allows.
        if let age = challenge.maxAge { options.add("--max-age", "\(min(age.wholeSeconds, 86_400))") }
        let isAnother = challenge.scopes.isEmpty && challenge.acrValues.isEmpty && challenge.maxAge == nil
        return isAnother ? options.replacing("--prompt", with: "login") : options
    }

    /// Returns the options with one more.
    func adding(_ name: String, _ value: String) -> SharedOptions {
        var options = self
        options.add(name, value)
        return options
    }

    /// Returns the options with one more, which has no value.
    func adding(flag name: String) -> SharedOptions {
        var options = self
        options.items.append(Item(name: name, value: nil))
        return options
    }

    /// The options as a program takes them.
    var words: [String] { items.map { item in item.name + (item.value.map { "=" + $0 } ?? "") } }

    /// Returns a command with these options, quoted for a POSIX shell.
    func command(_ name: String) -> String {
        let words = items.map { item in
            guard let text = item.value else { return item.name }
            let value = text.printable.shellWord
            return text.utf8.first == UInt8(ascii: "-") ? "\(item.name)=\(value)" : "\(item.name) \(value)"
        }
        return (["identityctl \(name)"] + words).joined(separator: " ")
    }

    private mutating func add(_ name: String, _ value: String) {
        items.append(Item(name: name, value: name == "--claims" ? Self.oneLine(value) : value))
    }

    /// Returns the JSON in one line that a terminal shows unchanged.
    private static func oneLine(_ json: String) -> String {
        (try? JSONObject(parsing: Array(json.utf8)))?.line ?? json
    }
}

extension ProviderOptions {
    /// Returns these options of the command line, and those of other groups, for another command.
    func shared(
        _ token: TokenOptions? = nil,
        _ account: AccountOption? = nil,
        _ scheme: SchemeOption? = nil
    ) -> SharedOptions {
        let groups = OptionGroups(provider: self, token: token, account: account, scheme: scheme)
        var options = SharedOptions()
        for setting in Setting.ofProvider + Setting.ofRequest {
            for value in groups.values(of: setting) {
                options =
                    setting.kind == .switch
                    ? options.adding(flag: setting.option) : options.adding(setting.option, value)
            }
        }
        return options
    }
}
