// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import IdentityClient
public import IdentityKeyring
import IdentityMSALCaches
import Synchronization
import SystemSupport

/// A cache in a keyring item that programs with Microsoft's authentication libraries (MSAL) use too.
///
/// The client's accounts of Entra ID in that item are this program's accounts. If the item's programs have one lock file, which the
/// ``MSALKeyringItem`` names, the tokens that this program obtains are theirs: a person signs in once for all of them. Everything else
/// in the item stays as it is, as in the shared file of `SharedMSALCache`.
///
/// An item of several products is only read. A sign-in, a refresh or a sign-out of this program is kept beside it, in keyring items
/// of this library, and comes before what the item says about the account. If a refresh token beside the item was refused and the item has
/// another one, the item's counts.
///
/// Accounts of AD FS, OpenID Connect and plain OAuth 2.0 servers, and records that are no accounts, are in items of this library too,
/// and leases in the user's runtime directory.
///
/// A lookup in an unchanged item costs one system call. The keyring's signals and the time of the programs' file tell of changes; an item
/// that is only read is read again after five seconds, too. A read takes at most five seconds. A write waits up to ten seconds for the
/// other programs' lock file, then throws `.cacheBusy`. A locked keyring is an error, and the person is asked to unlock it before the lock
/// is taken.
public final class SharedMSALKeyringCache: TokenCache {
    /// The last reading. It never changes, so that a hit copies one reference.
    private final class Memory: Sendable {
        let content: MSALItemContent
        /// The number of the keyring's signals before the reading, and the file.
        let epoch: UInt64
        let sight: MSALSignal.Sight?
        let readAt: ContinuousClock.Instant

        init(
            _ content: MSALItemContent,
            _ epoch: UInt64,
            _ sight: MSALSignal.Sight?,
            at readAt: ContinuousClock.Instant
        ) {
            (self.content, self.epoch, self.sight, self.readAt) = (content, epoch, sight, readAt)
        }
    }

    let item: MSALKeyringItem
    let clientID: ClientID
    let keyring: KeyringTokenCache
    private let others: any TokenCache
    let lockTimeout: Duration
    private let memory = Mutex<Memory?>(nil)
    let queue = QueueExecutor("identity-keyring.shared-item")

    /// Creates a cache in an item of other programs. Loads and asks nothing before the first use.
    ///
    /// - Parameters:
    ///   - item: The item, and the lock of its programs.
    ///   - clientID: The client whose accounts are found in the item.
    ///   - applicationName: The name of the items beside it, as the person sees them, for example "Contoso Mail".
    ///   - prompting: Whether the person is asked to unlock a locked keyring. The default is `.never`.
    public convenience init(
        _ item: MSALKeyringItem,
        clientID: ClientID,
        applicationName: String,
        prompting: KeyringPrompting = .never
    ) {
        self.init(
            item,
            clientID: clientID,
            keyring: KeyringTokenCache(applicationName: applicationName, prompting: prompting)
        )
    }

    /// Creates a cache with other settings.
    ///
    /// - Parameter others: The cache for what is beside the item; `nil` means the keyring.
    package init(
        _ item: MSALKeyringItem,
        clientID: ClientID,
        keyring: KeyringTokenCache,
        others: (any TokenCache)? = nil,
        lockTimeout: Duration = .seconds(10)
    ) {
        self.item = item
        self.clientID = clientID
        self.keyring = keyring
        self.others = others ?? keyring
        self.lockTimeout = lockTimeout
    }

    /// Returns the record under `key`, or `nil`.
    ///
    /// - Throws: `.cache` when the item is not a cache, `.keyringLocked` and other errors of the family `.cache` that begin with
    ///   `keyring`, `CancellationError`.
    public func record(for key: CacheKey) async throws -> CacheRecord? {
        let inItem = key.kind == .account ? try await read().reading.records[key.name] : nil
        if item.isWritable, inItem != nil { return inItem }
        return BesideItem(try await others.record(for: beside(key)), inItem).current
    }

    /// Stores `new` under `key` if the stored record is still `expected`: in the item under its programs' lock, or beside it.
    ///
    /// - Returns: Whether the record was replaced.
    /// - Throws: As ``record(for:)``, and `.cacheBusy` when another program holds the lock for ten seconds, `.cachePermissions` when
    ///   the directory of the lock is not safe, `.cacheFull`. After `.keyringTimedOut` the record may be stored or not: read it again.
    public func replace(
        _ expected: CacheRecord?,
        with new: CacheRecord?,
        for key: CacheKey
    ) async throws -> Bool {
        guard key.kind == .account else { return try await others.replace(expected, with: new, for: beside(key)) }
        if let signal = item.signal {
            let credentials = new.flatMap { AccountCredentials(shareable: $0, for: key) }
            if credentials != nil { return try await change(key, expected, credentials, under: signal) }
            // A record in another form, or a removal of what the item does not have.
            if new == nil, try await read().reading.records[key.name] != nil {
                return try await change(key, expected, nil, under: signal)
            }
            return try await others.replace(expected, with: new, for: beside(key))
        }
        let old = BesideItem(try await others.record(for: beside(key)), try await read().reading.records[key.name])
        guard old.current == expected else { return false }
        return try await others.replace(old.stored, with: old.replacement(new), for: beside(key))
    }

    /// Returns all records of one kind: of accounts, those in the item and those beside it.
    ///
    /// - Throws: As ``record(for:)``.
    public func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        var stored: [String: CacheRecord] = [:]
        for (key, record) in try await others.records(of: kind, in: group.beside(item.name)) {
            stored[key.name] = record
        }
        let inItem = kind == .account ? try await read().reading.records : [:]
        var records: [CacheKey: CacheRecord] = [:]
        for name in Set(stored.keys).union(inItem.keys) {
            let isShared = item.isWritable && inItem[name] != nil
            records[CacheKey(group: group, kind: kind, name: name)] =
                isShared ? inItem[name] : BesideItem(stored[name], inItem[name]).current
        }
        return records
    }

    /// Reads the item, and takes the lock and gives it back if the item is written. Asks the person to unlock the keyring if this
    /// cache may ask. Stores nothing.
    ///
    /// - Throws: The errors of ``replace(_:with:for:)``.
    public func checkWritable(in group: CacheGroup) async throws {
        if let signal = item.signal { try await check(signal) } else { _ = try await read() }
        try await others.checkWritable(in: group.beside(item.name))
    }

    /// Reads the item, and takes the lock and gives it back; or reserves a write beside the item.
    ///
    /// - Throws: The errors of ``replace(_:with:for:)``.
    public func reserve(_ bytes: Int, for key: CacheKey) async throws -> (any TokenCacheReservation)? {
        guard key.kind == .account, let signal = item.signal, try await read().reading.records[key.name] != nil else {
            return try await others.reserve(bytes, for: beside(key))
        }
        try await check(signal)
        return nil
    }

    private func beside(_ key: CacheKey) -> CacheKey {
        CacheKey(group: key.group.beside(item.name), kind: key.kind, name: key.name)
    }
}

// Leases, which are beside the item.
extension SharedMSALKeyringCache: LeaseLocking {
    package func lockLease(
        over expected: CacheRecord?,
        with lease: @escaping @Sendable (_ isLocked: Bool) -> CacheRecord,
        for key: CacheKey
    ) async throws -> StoredLease? {
        try await others.storeLease(over: expected, with: lease, for: beside(key))
    }

    package func isLeaseLocked(_ lease: CacheRecord, for key: CacheKey) async throws -> Bool? {
        try await others.findLeaseLock(lease, for: beside(key))
    }
}

// Reading the item.
extension SharedMSALKeyringCache {
    private func unchanged() -> MSALItemContent? {
        guard let known = memory.withLock({ $0 }) else { return nil }
        let changes = keyring.changes
        guard changes.isHeard, changes.epoch == known.epoch else { return nil }
        if let signal = item.signal, let sight = known.sight {
            guard signal.isUnchanged(since: sight) else { return nil }
        } else {
            // Without a file, only the keyring tells of changes, and some tell of none that are made in place.
            guard known.readAt.duration(to: .now) < .seconds(5) else { return nil }
        }
        return known.content
    }

    func read() async throws -> MSALItemContent {
        if let known = unchanged() { return known }
        // Both before the reading, so that a change meanwhile looks newer.
        let (epoch, sight, now) = (keyring.changes.epoch, item.signal?.sight(), ContinuousClock.now)
        let content = try parsed(try await keyring.newestSecret(with: item.query))
        memory.withLock { $0 = Memory(content, epoch, sight, at: now) }
        return content
    }

    /// Reads a secret. An account that is as in the last reading keeps its array.
    func parsed(_ secret: [UInt8]?) throws -> MSALItemContent {
        let old = memory.withLock { $0?.content }
        if let old, let secret, old.secret == secret { return old }
        return try MSALItemContent(parsing: secret, usesBase64: item.usesBase64, of: clientID, after: old)
    }
}
