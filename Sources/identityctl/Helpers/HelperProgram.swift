// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A program that asks for tokens, or the form in which programs want them.
enum HelperProgram: String, CaseIterable {
    case git, docker, kubectl, xoauth2, oauthbearer, keyring, cargo, bazel, pnpm, aws

    /// The program that is asked by the name of a link to `identityctl`.
    init?(link: Substring?) {
        switch link {
        case "git-credential-identityctl": self = .git
        case "docker-credential-identityctl": self = .docker
        case "keyring": self = .keyring
        case "cargo-credential-identityctl": self = .cargo
        case "bazel-credential-identityctl": self = .bazel
        case "pnpm-token-identityctl": self = .pnpm
        default: return nil
        }
    }

    /// Whether the last argument says what to do. The others only get a token.
    var hasOperation: Bool {
        switch self {
        case .git, .docker, .bazel: true
        case .kubectl, .xoauth2, .oauthbearer, .keyring, .cargo, .pnpm, .aws: false
        }
    }

    /// The options with a value that the options of `token` do not have.
    var options: Set<String> {
        switch self {
        case .git, .docker, .kubectl: ["--serves", "--username"]
        case .cargo, .bazel: ["--serves"]
        case .keyring, .pnpm: []
        case .xoauth2: ["--user"]
        case .oauthbearer: ["--user", "--host", "--port"]
        case .aws: Set(AWSRole.names.map { "--\($0)" })
        }
    }

    /// Whether the program's arguments ask for the help of a helper: 'helper git --help', or 'help helper git'.
    static func isHelp(_ arguments: [String]) -> Bool {
        guard arguments.count > 2, Self(rawValue: arguments[0] == "help" ? arguments[2] : arguments[1]) != nil else {
            return false
        }
        if arguments[0] == "help" { return arguments[1] == "helper" && arguments.count == 3 }
        return arguments[0] == "helper" && ["--help", "-h"].contains(arguments[2])
    }

    /// The names for an error message.
    static var list: String { allCases.map { "'helper \($0.rawValue)'" }.joined(separator: ", ") }
}
