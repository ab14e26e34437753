// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityKeyring
import IdentityMSALCaches
import IdentityMSALKeyring
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
    /// Encrypted files in the user's state directory, with their key outside the keyring.
    case encrypted(KeyFile)
    /// A file that programs with Microsoft's libraries use too.
    case shared(MSALLocation)
    /// A keyring item of such programs.
    case sharedItem(MSALKeyringItem)

    /// - Parameter home: The directory that replaces `~`. A shell does not replace a `~` inside a word.
    init(_ given: Given?, home: String?) throws {
        switch given?.text {
        case nil, "auto": self = .auto
        case "keyring": self = .keyring
        case "file": self = .file
        case "memory": self = .memory
        case .some(let text) where text.hasPrefix("file:") && text.utf8.count > 5:
            self = .directory(try Self.absolute(String(text.dropFirst(5)), home: home, given))
        case .some(let text) where text.hasPrefix("msal:") && text.utf8.count > 5:
            self = .shared(.file(try Self.absolute(String(text.dropFirst(5)), home: home, given)))
        case .some(let text) where text.hasPrefix("msal-keyring:") && text.utf8.count > 13:
            self = .sharedItem(try MSALKeyringItem(String(text.dropFirst(13)), home: home, given))
        case .some(let text):
            if let key = try Self.keyFile(given, home: home) {
                self = .encrypted(key)
                return
            }
            throw UsageError(
                """
                \(given?.origin ?? "--cache"): '\(text.printable)' is not a cache. Possible are: auto (the default: where \
                the tokens rest already, else encrypted files with their key in the keyring), keyring, file (in your \
                state directory, in clear text), encrypted:key-file=PATH or encrypted:credential=NAME (encrypted there, \
                with that key), file:DIRECTORY, msal:FILE or msal-keyring:ITEM (shared with programs that use MSAL), \
                memory (forgotten when the program ends).
                """
            )
        }
    }

    /// Returns the key that `encrypted:` names; `nil` for another text.
    static func keyFile(_ given: Given?, home: String?) throws -> KeyFile? {
        guard let given else { return nil }
        let (path, credential) = ("encrypted:key-file=", "encrypted:credential=")
        if given.text.hasPrefix(path) {
            let path = try absolute(String(given.text.dropFirst(path.count)), home: home, given)
            return try given.checked { try KeyFile(path: path) }
        }
        guard given.text.hasPrefix(credential) else { return nil }
        return try given.checked { try KeyFile(credential: String(given.text.dropFirst(credential.count))) }
    }

    /// A relative path would be another file in each working directory.
    static func absolute(_ path: String, home: String?, _ given: Given?) throws -> String {
        guard let absolute = path.hasPrefix("~/") ? home.map({ $0 + path.dropFirst() }) : path, absolute.hasPrefix("/")
        else {
            throw UsageError(
                """
                \(given?.origin ?? "--cache"): '\(path.printable)' is another place wherever the command runs. Give \
                one that begins with / or ~/.
                """
            )
        }
        return absolute
    }

    /// The user's stores that are chosen and accepted; `nil` if the choice is none of them.
    var policy: LocationPolicy? {
        switch self {
        case .auto: .standard.accepting(.file).acceptingAnyKeyFile()
        case .keyring: .require(.keyring)
        case .file: .require(.file)
        case .encrypted(let key): .require(.encryptedFile(key: key))
        case .memory, .directory, .shared, .sharedItem: nil
        }
    }

    /// The one store of the user's that the choice is; `nil` if it is another, or leaves the choice open.
    var store: TokenLocation? {
        switch self {
        case .keyring: .keyring
        case .file: .file
        case .encrypted(let key): .encryptedFile(key: key)
        case .auto, .memory, .directory, .shared, .sharedItem: nil
        }
    }

    /// The directory of the files; `nil` for the user's state directory.
    var directory: String? {
        if case .directory(let directory) = self { directory } else { nil }
    }

    func cache(
        of clientID: ClientID,
        prompting: KeyringPrompting,
        passPhrases: PassPhrasePrompt?,
        logger: Logger
    ) throws -> any TokenCache {
        if let policy {
            return Self.desktop(policy, prompting: prompting, passPhrases: passPhrases, logger: logger)
        }
        if case .shared(let store) = self { return try SharedMSALCache(store, clientID: clientID) }
        if case .sharedItem(let item) = self {
            return SharedMSALKeyringCache(
                item,
                clientID: clientID,
                applicationName: "identityctl",
                prompting: prompting
            )
        }
        return directory.map { FileTokenCache(directory: $0) } ?? InMemoryTokenCache()
    }

    /// - Parameters:
    ///   - prompting: Whether the person may be asked to unlock the keyring. Only a sign-in asks, because a person is present
    ///     then.
    ///   - passPhrases: Asks for the pass phrase of a key file; `nil` to ask nothing.
    static func desktop(
        _ policy: LocationPolicy,
        prompting: KeyringPrompting = .never,
        passPhrases: PassPhrasePrompt? = nil,
        logger: Logger
    ) -> DesktopTokenCache {
        DesktopTokenCache(
            applicationName: "identityctl",
            policy: policy,
            prompting: prompting,
            logger: logger
        ) { file in
            if let passPhrases { return passPhrases.key(in: file) }
            return file
        }
    }
}
