// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityKeyring
import Logging

/// Where tokens rest, as `--cache` says.
enum CacheChoice: Hashable, Sendable {
    /// Encrypted files with their key in the keyring; where there is no keyring, files.
    case auto
    case keyring
    case memory
    /// `nil` is the user's state directory.
    case file(directory: String?)

    init(_ given: Given?) throws {
        switch given?.text {
        case "auto": self = .auto
        case "keyring": self = .keyring
        case nil, "file": self = .file(directory: nil)
        case "memory": self = .memory
        case .some(let text) where text.hasPrefix("file:") && text.utf8.count > 5:
            self = .file(directory: String(text.dropFirst(5)))
        case .some(let text):
            throw UsageError(
                """
                \(given?.origin ?? "--cache"): '\(text.printable)' is not a cache. Possible are: auto (encrypted files \
                with their key in the keyring, or files where there is no keyring), keyring, file (in your \
                state directory, the default), file:DIRECTORY, memory (forgotten when the program ends).
                """
            )
        }
    }

    /// Where files rest; `nil` is the user's state directory.
    var directory: String? {
        if case .file(let directory) = self { directory } else { nil }
    }

    func cache(logger: Logger) -> any TokenCache {
        switch self {
        case .auto:
            DesktopTokenCache(
                applicationName: "identityctl",
                policy: .prefer(.encryptedFile, else: .keyring, .file),
                logger: logger
            )
        case .keyring: KeyringTokenCache(applicationName: "identityctl")
        case .memory: InMemoryTokenCache()
        case .file(let directory): FileTokenCache(directory: directory)
        }
    }
}
