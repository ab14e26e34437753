// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Synchronization

/// The stores that a desktop program may have, by name.
final class DesktopStores: Sendable {
    /// The kinds of records that outlast a program.
    static let movableKinds: [CacheKey.Kind] = [.account, .application, .provider]

    /// Files in clear text. The marker of every store lies beside them.
    let plain: FileTokenCache
    private let keyring: any TokenCache
    private let checkKeyring: @Sendable () async throws -> Void
    private let memory = InMemoryTokenCache()
    private let sealed = Mutex<FileTokenCache?>(nil)
    private let locks = Mutex<SharedLocks?>(nil)

    /// - Parameter checkKeyring: A bounded round trip to the keyring, which throws when it cannot be used now.
    init(
        directory: String?,
        keyring: any TokenCache,
        checkKeyring: @escaping @Sendable () async throws -> Void
    ) {
        plain = FileTokenCache(directory: directory)
        self.keyring = keyring
        self.checkKeyring = checkKeyring
    }

    /// Asks the keyring whether it can be used now.
    func requireKeyring() async throws {
        try await checkKeyring()
    }

    /// The cache of a store.
    func cache(_ store: TokenStore, for group: CacheGroup) throws -> any TokenCache {
        switch store {
        case .keyring: return keyring
        case .file: return plain
        case .memory: return memory
        default:
            let files = try sealedFiles()
            return EncryptedTokenCache(
                files,
                keyFrom: KeyringEncryptionKey(keyring: keyring, files: files, group: group)
            )
        }
    }

    /// Reads what a store needs beside its files, and makes nothing.
    func checkReadable(_ store: TokenStore, for group: CacheGroup) async throws {
        switch store {
        case .encryptedFile:
            try await KeyringEncryptionKey(keyring: keyring, files: try sealedFiles(), group: group).check()
        case .keyring: _ = try await isInKeyring(group)
        default: break
        }
    }

    /// Encrypted records lie beside the groups, under a name that no group can have.
    func sealedFiles() throws -> FileTokenCache {
        try sealed.withLock { sealed in
            if let sealed { return sealed }
            let new = FileTokenCache(directory: try plain.directory() + "/.encrypted")
            sealed = new
            return new
        }
    }

    /// A store of files that has tokens of `group`, from before there was a marker or after it was lost.
    func foundInFiles(_ group: CacheGroup) async throws -> TokenStore? {
        if try await !sealedFiles().records(of: .account, in: group).isEmpty { return .encryptedFile }
        return try await plain.records(of: .account, in: group).isEmpty ? nil : .file
    }

    /// Whether the keyring has tokens of `group`.
    func isInKeyring(_ group: CacheGroup) async throws -> Bool {
        try await !keyring.records(of: .account, in: group).isEmpty
    }

    /// The locks that keep writers and a move apart: a write has its record's, a move has all.
    func moveLocks() throws -> SharedLocks {
        try locks.withLock { locks in
            if let locks { return locks }
            let new = SharedLocks(directory: try plain.directory() + "/.moves", timeout: .seconds(5))
            locks = new
            return new
        }
    }
}
