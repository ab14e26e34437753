// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import IdentityClient
public import Logging
import SystemSupport

/// Keeps a desktop program's tokens in the best store that the machine has and the program accepts.
///
/// An explicit policy chooses the store once for each cache group. When the first token is written, a small file without a
/// secret beside the data records the choice. From then on the cache uses that store: if it cannot be used, calls throw, and
/// no other store is begun. Unless the policy names ``TokenLocation/file``, nothing is ever written in clear
/// text. A keyring that is locked or does not answer is not an absent keyring: then no store is chosen.
///
/// ```swift
/// let cache = DesktopTokenCache(applicationName: "Contoso Mail", policy: .prefer(.encryptedFile, else: .memory))
/// ```
///
/// The cache asks the keyring whether it can be used, within five seconds, only if no store was chosen before.
public final class DesktopTokenCache: TokenCache, CorruptRecordKeeping, LeaseLocking {
    /// The number of times that a call follows the tokens to another store.
    private static let maximumAttempts = 4
    /// A new error each time, because an error contains its time.
    private static var moving: AuthenticationError {
        AuthenticationError(.cacheBusy, "The sign-ins are being moved to another store. Try again.")
    }

    let stores: DesktopStores
    let inUse: StoresInUse
    private let mutex = KeyedMutex()

    /// Creates a cache. Reads and asks nothing before the first use.
    ///
    /// - Parameters:
    ///   - applicationName: The name of the items that the person sees in the keyring, for example "Contoso Mail".
    ///   - policy: The accepted stores, the best first. The default is ``LocationPolicy/standard``.
    ///   - directory: The directory of the files and of the recorded choice. The default is the directory of
    ///     `FileTokenCache`. Two directories have separate sign-ins in every store except ``TokenLocation/keyring``, whose items
    ///     belong to the user and the group: the directories share them, and a move out of the keyring in one directory signs
    ///     out in the other.
    ///   - prompting: Whether the person is asked to unlock a locked keyring. The default is ``KeyringPrompting/never``.
    ///   - logger: Receives the chosen store, once for each group, at level debug; `nil` means the task's logger.
    public convenience init(
        applicationName: String,
        policy: LocationPolicy = .standard,
        directory: String? = nil,
        prompting: KeyringPrompting = .never,
        logger: Logger? = nil
    ) {
        self.init(
            keyring: KeyringTokenCache(applicationName: applicationName, prompting: prompting, logger: logger),
            policy: policy,
            directory: directory,
            prompting: prompting,
            logger: logger
        )
    }

    /// Creates a cache that gets the key of each key file from `keys`, which may ask for a pass phrase.
    package convenience init(
        applicationName: String,
        policy: LocationPolicy,
        prompting: KeyringPrompting,
        logger: Logger?,
        keys: @escaping @Sendable (KeyFile) -> any EncryptionKeyProvider
    ) {
        self.init(
            keyring: KeyringTokenCache(applicationName: applicationName, prompting: prompting, logger: logger),
            policy: policy,
            directory: nil,
            prompting: prompting,
            logger: logger,
            keys: keys
        )
    }

    /// Creates a cache with the keyring of another session, for tests.
    convenience init(
        keyring: KeyringTokenCache,
        policy: LocationPolicy,
        directory: String?,
        prompting: KeyringPrompting,
        logger: Logger? = nil,
        keys: @escaping @Sendable (KeyFile) -> any EncryptionKeyProvider = { $0 }
    ) {
        self.init(policy: policy, directory: directory, keyring: keyring, logger: logger, keys: keys) {
            // A person who may be asked to unlock the keyring is asked by the next read or write.
            do {
                _ =
                    prompting.deadline == nil
                    ? try await keyring.openCollection() : try await keyring.status().collection
            } catch AuthenticationError.Code.keyringNoDefaultCollection where prompting.deadline != nil {
                // The next write asks the person to create a collection.
            }
        }
    }

    /// Creates a cache with any cache as the keyring, for tests.
    package init(
        policy: LocationPolicy,
        directory: String?,
        keyring: any TokenCache,
        logger: Logger? = nil,
        lockTimeout: Duration = .seconds(5),
        keys: @escaping @Sendable (KeyFile) -> any EncryptionKeyProvider = { $0 },
        checkKeyring: @escaping @Sendable () async throws -> Void
    ) {
        stores = DesktopStores(
            directory: directory,
            keyring: keyring,
            lockTimeout: lockTimeout,
            keys: keys,
            checkKeyring: checkKeyring
        )
        inUse = StoresInUse(stores, policy: policy, logger: logger)
    }

    /// Returns the store of the tokens of `group`, and the reason. Chooses the store if none was chosen before.
    ///
    /// If the store needs the keyring, this asks the keyring whether it can be used now. The person is not asked to unlock
    /// it.
    ///
    /// - Throws: `.keyringLocked`, `.keyringNoService` and other errors of the family `.cache` if no accepted store can
    ///   be used; `CancellationError`.
    public func openedLocation(for group: CacheGroup) async throws -> OpenedLocation {
        let current = try await inUse.current(for: group)
        guard current.store.needsKeyring else { return current.opened }
        do {
            try await stores.requireKeyring()
        } catch {
            throw inUse.explained(error, for: group)
        }
        return current.opened
    }

    /// Checks the current store, or the store that would be chosen: the directory of the files, and the keyring if the store
    /// needs it. Asks the person to unlock the keyring if this cache may ask. Records no choice, but may create the key of
    /// encrypted files, as the first write does.
    ///
    /// - Throws: As ``openedLocation(for:)``; the errors of the store.
    public func checkWritable(in group: CacheGroup) async throws {
        let current = try await inUse.current(for: group)
        guard current.store != .memory else { return }
        // The marker and the locks are beside the files, for every store.
        try await stores.plain.checkWritable(in: group)
        guard current.store != .file else { return }
        do {
            try await current.cache.checkWritable(in: group)
        } catch {
            throw inUse.explained(error, for: group)
        }
    }

    /// Reserves a write in the current store, under no lock. If the tokens are moved to another store meanwhile, the write
    /// there is an ordinary one.
    ///
    /// - Throws: As ``replace(_:with:for:)``.
    public func reserve(_ bytes: Int, for key: CacheKey) async throws -> (any TokenCacheReservation)? {
        let current = try await inUse.current(for: key.group)
        if current.store != .memory { try await stores.moveLocks().take(for: key).end() }
        return try await current.cache.reserve(bytes, for: key)
    }

    /// Whether the policy accepts tokens in `store`.
    package func accepts(_ store: TokenLocation) -> Bool {
        inUse.policy.accepts(store)
    }

    /// Returns the store that holds the tokens of `group`, even if the policy does not accept it, or `nil` if none was chosen.
    ///
    /// - Throws: The errors of reading files.
    package func rememberedStore(of group: CacheGroup) async throws -> TokenLocation? {
        try await inUse.remembered(for: group)
    }

    /// Reads the key of encrypted files, or the items of the keyring. Chooses and creates nothing.
    ///
    /// - Throws: The errors of the store; `.cacheKeyUnavailable` if the key of encrypted files is missing.
    package func checkReadable(_ store: TokenLocation, in group: CacheGroup) async throws {
        try await stores.checkReadable(store, for: group)
    }

    /// Returns the record under `key`, or `nil`.
    ///
    /// - Throws: As ``openedLocation(for:)``; the errors of the store.
    public func record(for key: CacheKey) async throws -> CacheRecord? {
        guard key.kind != .lease else { return try await inUse.store(for: key.group).cache.record(for: key) }
        var current = try await inUse.current(for: key.group)
        for _ in 0..<Self.maximumAttempts {
            do {
                if let record = try await current.cache.record(for: key) { return record }
            } catch {
                throw inUse.explained(error, for: key.group)
            }
            // Another process may have moved the record to another store meanwhile.
            let next = try await inUse.current(for: key.group)
            if next.isStill(current) { return nil }
            current = next
        }
        throw Self.moving
    }

    /// Stores `new` under `key` if the stored record is still `expected`. The first write of a group records its store.
    ///
    /// - Returns: Whether the record was replaced.
    /// - Throws: As ``openedLocation(for:)``; the errors of the store.
    public func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool {
        try await write(key, choosesStore: new != nil && key.kind != .lease) {
            try await $0.replace(expected, with: new, for: key)
        }
    }

    private func write<Value: Sendable>(
        _ key: CacheKey,
        choosesStore: Bool,
        _ work: (any TokenCache) async throws -> Value
    ) async throws -> Value {
        let known = try await inUse.store(for: key.group)
        guard known.store != .memory else { return try await work(known.cache) }
        try await settle(key.group)
        return try await mutex.withLock(key) {
            // No process moves the tokens while this lock is held.
            let lock = try await stores.moveLocks().take(for: key)
            defer { lock.end() }
            var current = try await inUse.current(for: key.group)
            if choosesStore { current = try await inUse.remember(current) }
            do {
                return try await work(current.cache)
            } catch {
                throw inUse.explained(error, for: key.group)
            }
        }
    }

    /// Returns all records of one kind in `group`.
    ///
    /// - Throws: As ``openedLocation(for:)``; the errors of the store.
    public func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        var known = try await inUse.current(for: group)
        for _ in 0..<Self.maximumAttempts {
            let records: [CacheKey: CacheRecord]
            do {
                records = try await known.cache.records(of: kind, in: group)
            } catch {
                throw inUse.explained(error, for: group)
            }
            let current = try await inUse.current(for: group)
            if current.isStill(known) { return records }
            known = current
        }
        throw Self.moving
    }

    /// Returns the hints of the store in use. They end when this object finds that the tokens were moved elsewhere.
    public func changes(in group: CacheGroup) -> AsyncStream<CacheKey>? {
        // Before the store is looked up, so that no move is missed.
        let moved = inUse.nextMove(of: group)
        let known = inUse.known(for: group)?.cache
        let stream = known?.changes(in: group)
        if known != nil, stream == nil { return nil }
        let (hints, continuation) = AsyncStream<CacheKey>.makeStream(bufferingPolicy: .bufferingNewest(64))
        let forwarding = Task { [weak inUse] in
            if let stream {
                for await key in stream { continuation.yield(key) }
            } else if let cache = try? await inUse?.store(for: group).cache, let stream = cache.changes(in: group) {
                // Records that were written before the store was opened for this listener count as changed. If the store
                // cannot be opened or read, its readers and writers get the error.
                for kind in DesktopStores.movableKinds {
                    let records = (try? await cache.records(of: kind, in: group)) ?? [:]
                    for key in records.keys { continuation.yield(key) }
                }
                for await key in stream { continuation.yield(key) }
            }
            continuation.finish()
        }
        let ending = Task {
            try await moved.value()
            continuation.finish()
        }
        continuation.onTermination = { _ in
            forwarding.cancel()
            ending.cancel()
        }
        return hints
    }

    package func lockLease(
        over expected: CacheRecord?,
        with lease: @escaping @Sendable (_ isLocked: Bool) -> CacheRecord,
        for key: CacheKey
    ) async throws -> StoredLease? {
        try await write(key, choosesStore: false) { try await $0.storeLease(over: expected, with: lease, for: key) }
    }

    package func isLeaseLocked(_ lease: CacheRecord, for key: CacheKey) async throws -> Bool? {
        try await inUse.store(for: key.group).cache.findLeaseLock(lease, for: key)
    }

    package func setAside(_ key: CacheKey, record: CacheRecord) async throws -> String? {
        let cache = try await inUse.store(for: key.group).cache
        if let keeper = cache as? any CorruptRecordKeeping { return try await keeper.setAside(key, record: record) }
        _ = try await cache.replace(record, with: nil, for: key)
        return nil
    }
}
