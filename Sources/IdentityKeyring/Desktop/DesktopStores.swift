// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Synchronization

/// The caches behind the stores of a desktop program.
final class DesktopStores: Sendable {
    /// The kinds of records that a move takes along. Leases stay.
    static let movableKinds: [CacheKey.Kind] = [.account, .application, .provider]

    /// Files in clear text. The marker of every store is beside them.
    let plain: FileTokenCache
    private let keyring: any TokenCache
    private let keys: @Sendable (KeyFile) -> any EncryptionKeyProvider
    private let checkKeyring: @Sendable () async throws -> Void
    private let lockTimeout: Duration
    private let memory = InMemoryTokenCache()
    private let sealed = Mutex<[String: FileTokenCache]>([:])
    private let locks = Mutex<SharedLocks?>(nil)

    /// - Parameters:
    ///   - lockTimeout: The longest wait for a lock of ``moveLocks()``.
    ///   - keys: Returns the provider of the key in a key file.
    ///   - checkKeyring: Asks the keyring within a time limit, and throws if it cannot be used now.
    init(
        directory: String?,
        keyring: any TokenCache,
        lockTimeout: Duration,
        keys: @escaping @Sendable (KeyFile) -> any EncryptionKeyProvider,
        checkKeyring: @escaping @Sendable () async throws -> Void
    ) {
        plain = FileTokenCache(directory: directory)
        self.keyring = keyring
        self.keys = keys
        self.lockTimeout = lockTimeout
        self.checkKeyring = checkKeyring
    }

    /// Asks the keyring, and throws if it cannot be used now.
    func requireKeyring() async throws {
        try await checkKeyring()
    }

    /// Returns the cache of a store.
    func cache(_ store: TokenLocation, for group: CacheGroup) throws -> any TokenCache {
        switch store {
        case .keyring: return keyring
        case .file: return plain
        case .memory: return memory
        default:
            let files = try sealedFiles(of: store)
            guard let key = store.keyFile else {
                return EncryptedTokenCache(
                    files,
                    keyFrom: KeyringEncryptionKey(keyring: keyring, files: files, group: group)
                )
            }
            return EncryptedTokenCache(files, keyFrom: groupKey(key, files, group))
        }
    }

    /// Returns the cache of a store that the tokens leave. If its key is not in its place any more, the key of `next` may be the
    /// same key in another place: then that one is used.
    func source(_ store: TokenLocation, for group: CacheGroup, movingTo next: TokenLocation) async throws
        -> any TokenCache
    {
        guard let key = store.keyFile, let moved = next.keyFile, try await key.isMissing() else {
            return try cache(store, for: group)
        }
        let files = try sealedFiles(of: store)
        return EncryptedTokenCache(files, keyFrom: groupKey(moved, files, group))
    }

    /// Reads the key of encrypted files, or the part of a store that is in the keyring. Creates nothing.
    func checkReadable(_ store: TokenLocation, for group: CacheGroup) async throws {
        switch store {
        case .encryptedFile:
            try await KeyringEncryptionKey(keyring: keyring, files: try sealedFiles(of: store), group: group).check()
        case .keyring: _ = try await isInKeyring(group)
        default:
            guard let key = store.keyFile else { return }
            _ = try await groupKey(key, try sealedFiles(of: store), group).encryptionKey()
        }
    }

    private func groupKey(_ file: KeyFile, _ files: FileTokenCache, _ group: CacheGroup) -> GroupKeyFile {
        GroupKeyFile(keyFile: file, source: keys(file), files: files, group: group)
    }

    /// Returns the cache of the encrypted records of a store. Their directory is beside the groups, under a name that no group
    /// can have; each key file has its own.
    func sealedFiles(of store: TokenLocation) throws -> FileTokenCache {
        let name = store.keyFile.map { ".encrypted-" + Digest.hexadecimal(of: ["\($0)"]).prefix(16) } ?? ".encrypted"
        return try sealed.withLock { sealed in
            if let known = sealed[name] { return known }
            let new = FileTokenCache(directory: "\(try plain.directory())/\(name)")
            sealed[name] = new
            return new
        }
    }

    /// Returns the store whose files contain tokens of `group`, for a group without a marker. Looks for those of the listed
    /// key files.
    func foundInFiles(_ group: CacheGroup, _ policy: LocationPolicy) async throws -> TokenLocation? {
        for store in [.encryptedFile] + (policy.locations + policy.alsoAccepted).filter(\.hasKeyFile)
        where try await !sealedFiles(of: store).records(of: .account, in: group).isEmpty {
            return store
        }
        return try await plain.records(of: .account, in: group).isEmpty ? nil : .file
    }

    /// Whether the keyring contains tokens of `group`.
    func isInKeyring(_ group: CacheGroup) async throws -> Bool {
        try await !keyring.records(of: .account, in: group).isEmpty
    }

    /// Returns the locks that separate writes from a move: a write takes the lock of its record, a move takes all.
    func moveLocks() throws -> SharedLocks {
        try locks.withLock { locks in
            if let locks { return locks }
            let new = SharedLocks(directory: try plain.directory() + "/.moves", timeout: lockTimeout)
            locks = new
            return new
        }
    }
}
