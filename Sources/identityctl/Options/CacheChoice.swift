// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityKeyring
import Logging

/// The store for the tokens, as chosen with `--cache`.
enum CacheChoice: Hashable, Sendable {
    /// The store that already holds the tokens. If there is none: encrypted files with their key in the keyring, or no
    /// store without a keyring.
    case auto
    case keyring
    case memory
    /// The user's state directory.
    case file
    case directory(String)

    /// - Parameter home: The directory that replaces `~`. A shell does not replace a `~` inside a word.
    init(_ given: Given?, home: String?) throws {
        switch given?.text {
        case nil, "auto": self = .auto
        case "keyring": self = .keyring
        case "file": self = .file
        case "memory": self = .memory
        case .some(let text) where text.hasPrefix("file:") && text.utf8.count > 5:
            let path = String(text.dropFirst(5))
            // A relative path would be another store in each working directory.
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

    /// The user's stores that are chosen and accepted; `nil` if the choice is none of them.
    var policy: StorePolicy? {
        switch self {
        case .auto: .standard.accepting(.file)
        case .keyring: .require(.keyring)
        case .file: .require(.file)
        case .memory, .directory: nil
        }
    }

    /// The directory of the files; `nil` for the user's state directory.
    var directory: String? {
        if case .directory(let directory) = self { directory } else { nil }
    }

    func cache(prompting: KeyringPrompting, logger: Logger) -> any TokenCache {
        if let policy { return Self.desktop(policy, prompting: prompting, logger: logger) }
        return directory.map { FileTokenCache(directory: $0) } ?? InMemoryTokenCache()
    }

    /// - Parameter prompting: Whether the person may be asked to unlock the keyring. Only a sign-in asks, because a
    ///   person is present then.
    static func desktop(
        _ policy: StorePolicy,
        prompting: KeyringPrompting = .never,
        logger: Logger
    ) -> DesktopTokenCache {
        DesktopTokenCache(applicationName: "identityctl", policy: policy, prompting: prompting, logger: logger)
    }
}
