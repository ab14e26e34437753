// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import IdentityClient
public import Logging
import Synchronization

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
    /// The kinds of records that outlast a program.
    static let movableKinds: [CacheKey.Kind] = [.account, .application, .provider]

    /// How often a call follows the tokens to another store.
    private static let patience = 4
    private static let moving = AuthenticationError(
        .cacheBusy,
        "The sign-ins are moved from store to store. Try again."
    )

    let policy: StorePolicy
    let marker: StoreMarker
    private let keyring: any TokenCache
    private let checkKeyring: @Sendable () async throws -> Void
    private let plain: FileTokenCache
    private let memory = InMemoryTokenCache()
    private let logger: Logger?
    private let sealed = Mutex<FileTokenCache?>(nil)
    private let turns = Turns()
    private let locks = Mutex<SharedLocks?>(nil)
    private let opened = Mutex<[CacheGroup: DesktopStore]>([:])
    private let early = EarlyHints()

    /// Names the program. Nothing is read or asked before the first use.
    ///
    /// - Parameters:
    ///   - applicationName: What the person sees as the name of items in the keyring, for example "Contoso Mail".
    ///   - policy: Which stores are accepted, the best first.
    ///   - directory: Where files rest; the default is that of `FileTokenCache`.
    ///   - prompting: Whether the person is asked to unlock a locked keyring.
    ///   - logger: Where the chosen store is told, once for each group, at level notice; `nil` means the task's logger.
    public convenience init(
        applicationName: String,
        policy: StorePolicy = .standard,
        directory: String? = nil,
        prompting: KeyringPrompting = .never,
        logger: Logger? = nil
    ) {
        let keyring = KeyringTokenCache(applicationName: applicationName, prompting: prompting)
        self.init(policy: policy, directory: directory, keyring: keyring, logger: logger) {
            // Whoever may be asked to unlock it is asked when there is something to read or write.
            if prompting == .never { _ = try await keyring.openCollection() } else { _ = try await keyring.status() }
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
        self.policy = policy
        self.keyring = keyring
        self.checkKeyring = checkKeyring
        self.logger = logger
        plain = FileTokenCache(directory: directory)
        marker = StoreMarker(plain)
    }

    /// Where the tokens of `group` rest, and why; chosen now if it was not before.
    ///
    /// A store that needs the keyring is asked whether it can be used now: call this before a person signs in, and nobody
    /// signs in for tokens that cannot be kept.
    ///
    /// - Throws: `.keyringLocked`, `.keyringNoService` and the other second levels of `.cache` when no accepted store can
    ///   be used; `CancellationError`.
    public func openedStore(for group: CacheGroup) async throws -> OpenedStore {
        let current = try await currentStore(for: group)
        if current.store.needsKeyring { try await requireKeyring() }
        return current.opened
    }

    /// Whether the policy accepts tokens that rest in `store`.
    package func accepts(_ store: TokenStore) -> Bool {
        policy.accepts(store)
    }

    /// The store in which the tokens of `group` rest, whether the policy accepts it or not; `nil` when none was chosen.
    ///
    /// - Throws: What reading files throws.
    package func rememberedStore(of group: CacheGroup) async throws -> TokenStore? {
        if let mark = try await marker.mark(of: group) { return mark.store }
        return try await foundStore(for: group)
    }

    /// The record under `key`, or `nil`.
    ///
    /// - Throws: As ``openedStore(for:)``, and what the store throws.
    public func record(for key: CacheKey) async throws -> CacheRecord? {
        guard key.kind != .lease else { return try await store(for: key.group).cache.record(for: key) }
        var current = try await currentStore(for: key.group)
        for _ in 0..<Self.patience {
            if let record = try await current.cache.record(for: key) { return record }
            // Where nothing is, another process may just have moved it from.
            let next = try await currentStore(for: key.group)
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
        let listeners = early.listeners(for: key.group)
        let isReplaced = try await write(expected, with: new, for: key)
        if isReplaced { for listener in listeners { listener.yield(key) } }
        return isReplaced
    }

    private func write(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool {
        guard key.kind != .lease else {
            return try await store(for: key.group).cache.replace(expected, with: new, for: key)
        }
        let known = try await store(for: key.group)
        guard known.store != .memory else { return try await known.cache.replace(expected, with: new, for: key) }
        return try await turns.take(key) {
            // Until this is done, nobody moves the tokens.
            let lock = try await moveLocks().take(for: key)
            defer { lock.end() }
            var current = try await currentStore(for: key.group)
            if new != nil { current = try await remembered(current) }
            return try await current.cache.replace(expected, with: new, for: key)
        }
    }

    /// All records of one kind in `group`.
    ///
    /// - Throws: As ``openedStore(for:)``, and what the store throws.
    public func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        var known = try await currentStore(for: group)
        for _ in 0..<Self.patience {
            let records = try await known.cache.records(of: kind, in: group)
            let current = try await currentStore(for: group)
            if current.isStill(known) { return records }
            known = current
        }
        throw Self.moving
    }

    /// The hints of the store in use; they end when the tokens are moved elsewhere.
    public func changes(in group: CacheGroup) -> AsyncStream<CacheKey>? {
        if let known = opened.withLock({ $0[group] }) { return known.cache.changes(in: group) }
        let (hints, continuation) = AsyncStream<CacheKey>.makeStream(bufferingPolicy: .bufferingNewest(64))
        let listener = early.add(continuation, for: group)
        let work = Task { [weak self, early] in
            // What is wrong with the store is told to those who read and write; here are only hints.
            let stream = try? await self?.store(for: group).cache.changes(in: group)
            early.remove(listener)
            if let stream { for await key in stream { continuation.yield(key) } }
            continuation.finish()
        }
        continuation.onTermination = { [early] _ in
            early.remove(listener)
            work.cancel()
        }
        return hints
    }

    package func setAside(_ key: CacheKey, record: CacheRecord) async throws -> String {
        let cache = try await store(for: key.group).cache
        if let keeper = cache as? any CorruptRecordKeeping { return try await keeper.setAside(key, record: record) }
        _ = try await cache.replace(record, with: nil, for: key)
        return "nothing, for it was in memory only"
    }
}

/// A store that is open.
struct DesktopStore: Sendable {
    let opened: OpenedStore
    let cache: any TokenCache
    /// What the marker said of it, if there was one.
    let mark: StoreMark?

    var store: TokenStore { opened.store }

    /// Whether `other` is the same store, and the tokens were never away from it.
    func isStill(_ other: DesktopStore) -> Bool {
        store == other.store && mark?.moves ?? 0 == other.mark?.moves ?? 0
    }
}

extension DesktopTokenCache {
    /// The store that this object has open, or the one to open.
    private func store(for group: CacheGroup) async throws -> DesktopStore {
        if let known = opened.withLock({ $0[group] }) { return known }
        let mark = try await marker.mark(of: group)
        var remembered = if let mark { mark.store } else { try await foundStore(for: group) }
        var problem: AuthenticationError?
        if StoreChoice.asksKeyring(policy, remembered: remembered) {
            do { try await requireKeyring() } catch let error as AuthenticationError { problem = error }
            if problem == nil, try await isInKeyring(group) { remembered = .keyring }
        }
        let (store, reason) = try StoreChoice.decide(policy, remembered: remembered, problem: problem)
        let choice = OpenedStore(group: group, store: store, reason: reason)
        let new = DesktopStore(opened: choice, cache: try cache(store, for: group), mark: mark)
        let (known, isFirst) = opened.withLock { opened in
            if let known = opened[group] { return (known, false) }
            opened[group] = new
            return (new, true)
        }
        if isFirst { tell(choice) }
        return known
    }

    /// The store that the marker names now, where there is one.
    func currentStore(for group: CacheGroup) async throws -> DesktopStore {
        let known = try await store(for: group)
        guard let mark = try await marker.mark(of: group) else { return known }
        return try adopt(mark, instead: known)
    }

    /// Remembers that the tokens rest in `known`, or gives the store that another process has remembered.
    private func remembered(_ known: DesktopStore) async throws -> DesktopStore {
        guard known.mark == nil, known.store != .memory else { return known }
        return try adopt(try await marker.remember(known.store, for: known.opened.group), instead: known)
    }

    private func adopt(_ mark: StoreMark, instead known: DesktopStore) throws -> DesktopStore {
        if let old = known.mark, old.store == mark.store, old.moves == mark.moves { return known }
        let group = known.opened.group
        // Tokens that went away and came back may have another key.
        let isSame = known.store == mark.store && known.mark?.moves ?? 0 == mark.moves
        let reason = try StoreChoice.decide(policy, remembered: mark.store, problem: nil).reason
        let choice = isSame ? known.opened : OpenedStore(group: group, store: mark.store, reason: reason)
        let cache = isSame ? known.cache : try cache(mark.store, for: group)
        let new = DesktopStore(opened: choice, cache: cache, mark: mark)
        opened.withLock { $0[group] = new }
        if !isSame { tell(choice) }
        return new
    }

    /// A store of files that has tokens of `group`, from before there was a marker or after it was lost.
    func foundStore(for group: CacheGroup) async throws -> TokenStore? {
        if try await !sealedFiles().records(of: .account, in: group).isEmpty { return .encryptedFile }
        return try await plain.records(of: .account, in: group).isEmpty ? nil : .file
    }

    /// Whether the keyring has tokens of `group` though nothing is remembered.
    private func isInKeyring(_ group: CacheGroup) async throws -> Bool {
        guard policy.accepts(.keyring), policy.stores.first != .keyring else { return false }
        return try await !keyring.records(of: .account, in: group).isEmpty
    }

    /// The store that this object has open, if any.
    func storeInUse(for group: CacheGroup) -> TokenStore? {
        opened.withLock { $0[group]?.store }
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

    /// Removes the key of encrypted files that are no more.
    func removeUnusedKey(of group: CacheGroup) async {
        // What fails here leaves an item behind that opens nothing; the move is done all the same.
        guard let files = try? sealedFiles() else { return }
        for kind in Self.movableKinds {
            guard let records = try? await files.records(of: kind, in: group), records.isEmpty else { return }
        }
        let item = KeyringEncryptionKey.item(of: group)
        guard let key = try? await keyring.record(for: item) else { return }
        _ = try? await keyring.replace(key, with: nil, for: item)
    }

    /// A bounded round trip to the keyring.
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

    /// Encrypted records lie beside the groups, under a name that no group can have.
    func sealedFiles() throws -> FileTokenCache {
        try sealed.withLock { sealed in
            if let sealed { return sealed }
            let new = FileTokenCache(directory: try plain.directory() + "/.encrypted")
            sealed = new
            return new
        }
    }

    func forgetOpened(_ group: CacheGroup) {
        opened.withLock { $0[group] = nil }
    }

    private func tell(_ choice: OpenedStore) {
        (logger ?? Logger.current).notice(
            "token store chosen",
            metadata: ["store": "\(choice.store)", "reason": "\(choice.explanation)", "group": "\(choice.group.name)"]
        )
    }
}
