// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// How a kind of program is told to use the forwarder.
enum ForwardRecipe: String, CaseIterable, Sendable {
    case http
    case claudeCode = "claude-code"
    case openai
    case npm
    case pip
    case git

    /// The hosts that no proxy is asked for.
    static let direct = "127.0.0.1,::1,localhost"

    /// The place where a program finds the forwarder.
    struct Place: Hashable, Sendable {
        let port: UInt16
        let phantom: String
        /// The path of the server's address, without a slash at its end.
        let path: String
        /// The server's address; `nil` where this machine does not know it.
        let server: String?

        var url: String { "http://127.0.0.1:\(port)\(path)" }
        /// The address with the phantom as a password.
        var urlWithPhantom: String { "http://x:\(phantom)@127.0.0.1:\(port)\(path)" }
    }

    /// The variables of a program; `nil` for one that it must not have.
    ///
    /// - Parameters:
    ///   - variable: Returns the value of a variable so far.
    ///   - npmrc: The path of npm's file.
    func variables(
        _ place: Place,
        npmrc: String,
        having variable: (String) -> String?
    ) -> [(name: String, value: String?)] {
        switch self {
        case .http: [("IDENTITYCTL_FORWARD_URL", place.url), ("IDENTITYCTL_FORWARD_PHANTOM", place.phantom)]
        case .claudeCode:
            [
                ("ANTHROPIC_BASE_URL", place.url), ("ANTHROPIC_AUTH_TOKEN", place.phantom),
                ("ANTHROPIC_API_KEY", nil),
            ]
        case .openai: [("OPENAI_BASE_URL", place.url), ("OPENAI_API_KEY", place.phantom)]
        case .npm: [("NPM_CONFIG_USERCONFIG", npmrc)]
        case .pip: [("PIP_INDEX_URL", place.urlWithPhantom)]
        case .git: gitVariables(place, count: variable("GIT_CONFIG_COUNT").flatMap { Int($0) } ?? 0)
        }
    }

    /// git takes pairs of names and values from numbered variables.
    private func gitVariables(_ place: Place, count: Int) -> [(name: String, value: String?)] {
        [
            ("GIT_CONFIG_COUNT", "\(count + 1)"),
            ("GIT_CONFIG_KEY_\(count)", "url.\(place.urlWithPhantom)/.insteadOf"),
            ("GIT_CONFIG_VALUE_\(count)", "\(place.server ?? "")/"),
        ]
    }

    /// The text of npm's file.
    static func npmrc(_ place: Place) -> String {
        """
        registry=\(place.url)/
        //127.0.0.1:\(place.port)\(place.path)/:_authToken=\(place.phantom)
        replace-registry-host=always

        """
    }

    /// The value of `no_proxy` without which programs send requests for the forwarder to a proxy; `nil` if they do not.
    static func missingExceptions(_ variable: (String) -> String?) -> String? {
        let proxies = ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"].compactMap(variable)
        let known = variable("no_proxy") ?? variable("NO_PROXY")
        let hosts = known?.split { ", ".contains($0) } ?? []
        let isExcepted = hosts.contains("*") || hosts.contains("127.0.0.1")
        return proxies.isEmpty || isExcepted ? nil : withoutProxy(beside: known)
    }

    /// The hosts without a proxy beside those that a variable names.
    static func withoutProxy(beside hosts: String?) -> String {
        hosts.map { $0 == "*" ? "*" : "\($0),\(direct)" } ?? direct
    }
}
