// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityKeyring
import Logging

/// Where tokens rest, as `--cache` says.
enum CacheChoice: Hashable, Sendable {
    /// Where they rest already; else encrypted files with their key in the keyring, and nothing where there is no keyring.
    case auto
    case keyring
    case memory
    /// The user's state directory.
    case file
    case directory(String)

    /// - Parameter home: What `~` stands for. A shell leaves it as it is where it is not the word's beginning.
    init(_ given: Given?, home: String?) throws {
        switch given?.text {
        case nil, "auto": self = .auto
        case "keyring": self = .keyring
        case "file": self = .file
        case "memory": self = .memory
        case .some(let text) where text.hasPrefix("file:") && text.utf8.count > 5:
            let path = String(text.dropFirst(5))
            // A relative one would be another store in each directory.
            guard let directory = path.hasPrefix("~/") ? home.map({ $0 + path.dropFirst() }) : path,
                directory.hasPrefix("/")
            else {
                throw UsageError(
                    """
                    \(given?.origin ?? "--cache"): '\(path.printable)' is another directory wherever the command runs. Give \
                    one that begins with / or ~/.
                    """
                )
            }
            self = .directory(directory)
        case .some(let text):
            throw UsageError(
                """
                \(given?.origin ?? "--cache"): '\(text.printable)' is not a cache. Possible are: auto (the default: where \
                the tokens rest already, else encrypted files with their key in the keyring), keyring, file (in your \
                state directory, in clear text), file:DIRECTORY, memory (forgotten when the program ends).
                """
            )
        }
    }

    /// Which of the user's stores are chosen and accepted; `nil` where it is none of them.
    var policy: StorePolicy? {
        switch self {
        case .auto: .standard.accepting(.file)
        case .keyring: .require(.keyring)
        case .file: .require(.file)
        case .memory, .directory: nil
        }
    }

    /// Where files rest; `nil` is the user's state directory.
    var directory: String? {
        if case .directory(let directory) = self { directory } else { nil }
    }

    func cache(prompting: KeyringPrompting, logger: Logger) -> any TokenCache {
        if let policy { return Self.desktop(policy, prompting: prompting, logger: logger) }
        return directory.map { FileTokenCache(directory: $0) } ?? InMemoryTokenCache()
    }

    /// - Parameter prompting: Who signs in is there, and may be asked to unlock the keyring; no other command asks anybody.
    static func desktop(
        _ policy: StorePolicy,
        prompting: KeyringPrompting = .never,
        logger: Logger
    ) -> DesktopTokenCache {
        DesktopTokenCache(applicationName: "identityctl", policy: policy, prompting: prompting, logger: logger)
    }
}
