// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import IdentityClient
public import Logging
import Synchronization

/// Keeps a desktop program's tokens in the best store that the machine has and the program accepts.
///
/// The store is chosen once for each cache group, by an explicit policy, and remembered beside the data in a small file
/// without a secret when the first token is written. From then on it is that store: where it is out of reach, calls throw
/// and no empty one is begun elsewhere. Unless the policy lists ``TokenStore/file``, nothing is ever written in clear
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

    let policy: StorePolicy
    let marker: StoreMarker
    private let keyring: any TokenCache
    private let checkKeyring: @Sendable () async throws -> Void
    private let plain: FileTokenCache
    private let memory = InMemoryTokenCache()
    private let logger: Logger?
    private let sealed = Mutex<FileTokenCache?>(nil)
    private let opened = Mutex<[CacheGroup: DesktopStore]>([:])

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
            guard try await keyring.status().isLocked, prompting == .never else { return }
            throw AuthenticationError.keyring(.keyringLocked)
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
    /// - Throws: `.keyringLocked`, `.keyringNoService` and the other second levels of `.cache` when no accepted store can
    ///   be used; `CancellationError`.
    public func openedStore(for group: CacheGroup) async throws -> OpenedStore {
        try await store(for: group).opened
    }

    /// The stores that were written to though the policy prefers others.
    package var fallbacksInUse: [OpenedStore] {
        opened.withLock { opened in
            opened.values.filter(\.isRemembered).map(\.opened).filter { store in
                if case .fallback = store.reason { true } else { false }
            }
        }
    }

    /// The record under `key`, or `nil`.
    ///
    /// - Throws: As ``openedStore(for:)``, and what the store throws.
    public func record(for key: CacheKey) async throws -> CacheRecord? {
        let known = try await store(for: key.group)
        if let record = try await known.cache.record(for: key) { return record }
        guard key.kind != .lease else { return nil }
        // Where nothing is, another process may have moved it from.
        let current = try await currentStore(for: key.group)
        return current.store == known.store ? nil : try await current.cache.record(for: key)
    }

    /// Stores `new` under `key` if what is stored is still `expected`; the first write of a group remembers its store.
    ///
    /// - Returns: Whether the record was replaced.
    /// - Throws: As ``openedStore(for:)``, and what the store throws.
    public func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool {
        guard key.kind != .lease else {
            return try await store(for: key.group).cache.replace(expected, with: new, for: key)
        }
        var current = try await currentStore(for: key.group)
        if new != nil { current = try await remembered(current) }
        for _ in 0..<4 {
            let isDone = try await current.cache.replace(expected, with: new, for: key)
            let next = try await currentStore(for: key.group)
            guard next.store != current.store else { return isDone }
            // Somebody moved the tokens meanwhile: what was written to the old store goes to the new one.
            if isDone, new != nil { _ = try await current.cache.replace(new, with: nil, for: key) }
            if try await next.cache.record(for: key) == new { return true }
            current = next
        }
        throw AuthenticationError(.cacheBusy, "The sign-ins are moved from store to store. Try again.")
    }

    /// All records of one kind in `group`.
    ///
    /// - Throws: As ``openedStore(for:)``, and what the store throws.
    public func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        try await currentStore(for: group).cache.records(of: kind, in: group)
    }

    /// The hints of the store in use; they end when the tokens are moved elsewhere.
    public func changes(in group: CacheGroup) -> AsyncStream<CacheKey>? {
        if let known = opened.withLock({ $0[group] }) { return known.cache.changes(in: group) }
        let (hints, continuation) = AsyncStream<CacheKey>.makeStream(bufferingPolicy: .bufferingNewest(64))
        let work = Task { [weak self] in
            // What is wrong with the store is told to those who read and write; here are only hints.
            let stream = try? await self?.store(for: group).cache.changes(in: group)
            if let stream { for await key in stream { continuation.yield(key) } }
            continuation.finish()
        }
        continuation.onTermination = { _ in work.cancel() }
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
    /// Whether the marker names it.
    let isRemembered: Bool

    var store: TokenStore { opened.store }
}

extension DesktopTokenCache {
    /// The store that this object has open, or the one to open.
    private func store(for group: CacheGroup) async throws -> DesktopStore {
        if let known = opened.withLock({ $0[group] }) { return known }
        let marked = try await marker.store(of: group)
        let remembered = if let marked { marked } else { try await foundStore(for: group) }
        var problem: AuthenticationError?
        if StoreChoice.asksKeyring(policy, remembered: remembered) {
            do { try await requireKeyring() } catch let error as AuthenticationError { problem = error }
        }
        let (store, reason) = try StoreChoice.decide(policy, remembered: remembered, problem: problem)
        let choice = OpenedStore(group: group, store: store, reason: reason)
        let new = DesktopStore(opened: choice, cache: try cache(store, for: group), isRemembered: marked != nil)
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
        guard let marked = try await marker.store(of: group) else { return known }
        return try adopt(marked, instead: known)
    }

    /// Remembers that the tokens rest in `known`, or gives the store that another process has remembered.
    private func remembered(_ known: DesktopStore) async throws -> DesktopStore {
        guard !known.isRemembered, known.store != .memory else { return known }
        return try adopt(try await marker.remember(known.store, for: known.opened.group), instead: known)
    }

    private func adopt(_ marked: TokenStore, instead known: DesktopStore) throws -> DesktopStore {
        if known.isRemembered, known.store == marked { return known }
        let group = known.opened.group
        let isSame = known.store == marked
        let reason = try StoreChoice.decide(policy, remembered: marked, problem: nil).reason
        let choice = isSame ? known.opened : OpenedStore(group: group, store: marked, reason: reason)
        let cache = isSame ? known.cache : try cache(marked, for: group)
        let new = DesktopStore(opened: choice, cache: cache, isRemembered: true)
        opened.withLock { $0[group] = new }
        if !isSame { tell(choice) }
        return new
    }

    /// A store of files that has tokens of `group`, from before there was a marker or after it was lost.
    func foundStore(for group: CacheGroup) async throws -> TokenStore? {
        if try await !sealedFiles().records(of: .account, in: group).isEmpty { return .encryptedFile }
        return try await plain.records(of: .account, in: group).isEmpty ? nil : .file
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
    private func sealedFiles() throws -> FileTokenCache {
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
