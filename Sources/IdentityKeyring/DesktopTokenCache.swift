// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import IdentityClient
public import Logging

/// Keeps a desktop program's tokens in the best store that the machine has and the program accepts.
///
/// The store is chosen once for each cache group, by an explicit policy, and remembered beside the data in a small file
/// without a secret when the first token is written. From then on it is that store: where it is out of reach, calls throw
/// and no empty one is begun elsewhere. Unless the policy names ``TokenStore/file``, nothing is ever written in clear
/// text. A keyring that is locked or does not answer is not an absent one: then nothing is chosen either.
///
/// ```swift
/// let cache = DesktopTokenCache(applicationName: "Contoso Mail", policy: .prefer(.encryptedFile, else: .memory))
/// ```
///
/// Whether there is a keyring is found out by asking it, within five seconds, and only when nothing is remembered.
public final class DesktopTokenCache: TokenCache, CorruptRecordKeeping {
    /// How often a call follows the tokens to another store.
    private static let maximumAttempts = 4
    /// Made anew each time, for the time in it.
    private static var moving: AuthenticationError {
        AuthenticationError(.cacheBusy, "The sign-ins are moved from store to store. Try again.")
    }

    let stores: DesktopStores
    let inUse: StoresInUse
    private let mutex = KeyedMutex()

    /// Names the program. Nothing is read or asked before the first use.
    ///
    /// - Parameters:
    ///   - applicationName: The name of the items that the person sees in the keyring, for example "Contoso Mail".
    ///   - policy: Which stores are accepted, the best first; ``StorePolicy/standard`` unless given.
    ///   - directory: Where files rest, and what is remembered; the default is that of `FileTokenCache`. Two directories have
    ///     sign-ins of their own in every store but ``TokenStore/keyring``: what rests there belongs to the user and the group,
    ///     so that they share it, and a move out of it in one directory signs out in the other.
    ///   - prompting: Whether the person is asked to unlock a locked keyring; ``KeyringPrompting/never`` unless given.
    ///   - logger: Where the chosen store is told, once for each group, at level notice; `nil` means the task's logger.
    public convenience init(
        applicationName: String,
        policy: StorePolicy = .standard,
        directory: String? = nil,
        prompting: KeyringPrompting = .never,
        logger: Logger? = nil
    ) {
        self.init(
            keyring: KeyringTokenCache(applicationName: applicationName, prompting: prompting),
            policy: policy,
            directory: directory,
            prompting: prompting,
            logger: logger
        )
    }

    /// The same with the keyring of another session, for tests.
    convenience init(
        keyring: KeyringTokenCache,
        policy: StorePolicy,
        directory: String?,
        prompting: KeyringPrompting,
        logger: Logger? = nil
    ) {
        self.init(policy: policy, directory: directory, keyring: keyring, logger: logger) {
            // Whoever may be asked to unlock it is asked when there is something to read or write.
            do {
                _ =
                    prompting.deadline == nil
                    ? try await keyring.openCollection() : try await keyring.status().collection
            } catch AuthenticationError.Code.keyringNoDefaultCollection where prompting.deadline != nil {
                // The person will be asked to make one.
            }
        }
    }

    /// The same with a keyring of one's own, for tests.
    package init(
        policy: StorePolicy,
        directory: String?,
        keyring: any TokenCache,
        logger: Logger? = nil,
        checkKeyring: @escaping @Sendable () async throws -> Void
    ) {
        stores = DesktopStores(directory: directory, keyring: keyring, checkKeyring: checkKeyring)
        inUse = StoresInUse(stores, policy: policy, logger: logger)
    }

    /// Where the tokens of `group` rest, and why; chosen now if it was not before.
    ///
    /// If a store needs the keyring, the keyring is asked whether it can be used now. The person is not asked to unlock
    /// it.
    ///
    /// - Throws: `.keyringLocked`, `.keyringNoService` and the other second levels of `.cache` when no accepted store can
    ///   be used; `CancellationError`.
    public func openedStore(for group: CacheGroup) async throws -> OpenedStore {
        let current = try await inUse.current(for: group)
        if current.store.needsKeyring { try await stores.requireKeyring() }
        return current.opened
    }

    /// Asks the store that is used, or would be chosen: the place of the files, and the keyring where it is needed. The person
    /// is asked to unlock the keyring where this cache may ask. Nothing is remembered; but encrypted files may be given their
    /// key, as with the first write.
    ///
    /// - Throws: As ``openedStore(for:)``, and what the store throws.
    public func checkWritable(in group: CacheGroup) async throws {
        let current = try await inUse.current(for: group)
        guard current.store != .memory else { return }
        // What is remembered of a store, and the locks, lie beside the files whichever store it is.
        try await stores.plain.checkWritable(in: group)
        if current.store != .file { try await current.cache.checkWritable(in: group) }
    }

    /// Whether the policy accepts tokens that rest in `store`.
    package func accepts(_ store: TokenStore) -> Bool {
        inUse.policy.accepts(store)
    }

    /// The store in which the tokens of `group` rest, whether the policy accepts it or not; `nil` when none was chosen.
    ///
    /// - Throws: The errors of reading files.
    package func rememberedStore(of group: CacheGroup) async throws -> TokenStore? {
        try await inUse.remembered(for: group)
    }

    /// Reads what the store of `group` needs beside its files: the key of encrypted ones, the items of the keyring. Nothing is
    /// chosen or made.
    ///
    /// - Throws: The errors of the store; `.cacheKeyUnavailable` if the key of encrypted files is missing.
    package func checkReadable(in group: CacheGroup) async throws {
        guard let store = try await rememberedStore(of: group) else { return }
        try await stores.checkReadable(store, for: group)
    }

    /// The record under `key`, or `nil`.
    ///
    /// - Throws: As ``openedStore(for:)``, and what the store throws.
    public func record(for key: CacheKey) async throws -> CacheRecord? {
        guard key.kind != .lease else { return try await inUse.store(for: key.group).cache.record(for: key) }
        var current = try await inUse.current(for: key.group)
        for _ in 0..<Self.maximumAttempts {
            if let record = try await current.cache.record(for: key) { return record }
            // Where nothing is, another process may just have moved it from.
            let next = try await inUse.current(for: key.group)
            if next.isStill(current) { return nil }
            current = next
        }
        throw Self.moving
    }

    /// Stores `new` under `key` if what is stored is still `expected`; the first write of a group remembers its store.
    ///
    /// - Returns: Whether the record was replaced.
    /// - Throws: As ``openedStore(for:)``, and what the store throws.
    public func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool {
        // Taken before: while this writes, they may begin to hear from the store, too late for this write.
        let listeners = inUse.listeners.early(in: key.group)
        let isReplaced = try await write(expected, with: new, for: key)
        if isReplaced { for listener in listeners { listener.yield(key) } }
        return isReplaced
    }

    private func write(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool {
        let known = try await inUse.store(for: key.group)
        guard known.store != .memory else { return try await known.cache.replace(expected, with: new, for: key) }
        try await settle(key.group)
        return try await mutex.withLock(key) {
            // Until this is done, nobody moves the tokens.
            let lock = try await stores.moveLocks().take(for: key)
            defer { lock.end() }
            var current = try await inUse.current(for: key.group)
            if new != nil, key.kind != .lease { current = try await inUse.remember(current) }
            return try await current.cache.replace(expected, with: new, for: key)
        }
    }

    /// All records of one kind in `group`.
    ///
    /// - Throws: As ``openedStore(for:)``, and what the store throws.
    public func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        var known = try await inUse.current(for: group)
        for _ in 0..<Self.maximumAttempts {
            let records = try await known.cache.records(of: kind, in: group)
            let current = try await inUse.current(for: group)
            if current.isStill(known) { return records }
            known = current
        }
        throw Self.moving
    }

    /// The hints of the store in use; they end when this object finds that the tokens were moved elsewhere.
    public func changes(in group: CacheGroup) -> AsyncStream<CacheKey>? {
        let (hints, continuation) = AsyncStream<CacheKey>.makeStream(bufferingPolicy: .bufferingNewest(64))
        let listeners = inUse.listeners
        // Before the store is looked up: who follows the tokens elsewhere ends the hints of all who are listed by then.
        let listener = listeners.add(continuation, for: group)
        let known = inUse.known(for: group)
        let stream = known?.cache.changes(in: group)
        if known != nil {
            guard stream != nil else {
                listeners.remove(listener)
                return nil
            }
            listeners.hearsFromStore(listener)
        }
        let work = Task { [weak inUse] in
            var stream = stream
            if stream == nil {
                // What is wrong with the store is told to those who read and write; here are only hints.
                stream = try? await inUse?.store(for: group).cache.changes(in: group)
                listeners.hearsFromStore(listener)
            }
            if let stream { for await key in stream { continuation.yield(key) } }
            continuation.finish()
        }
        continuation.onTermination = { _ in
            listeners.remove(listener)
            work.cancel()
        }
        // Ended before there was anything to tell of it.
        if !listeners.has(listener) { work.cancel() }
        return hints
    }

    package func setAside(_ key: CacheKey, record: CacheRecord) async throws -> String? {
        let cache = try await inUse.store(for: key.group).cache
        if let keeper = cache as? any CorruptRecordKeeping { return try await keeper.setAside(key, record: record) }
        _ = try await cache.replace(record, with: nil, for: key)
        return nil
    }
}
