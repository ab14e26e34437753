// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import GLibSupport
public import IdentityClient
package import Logging
import SystemSupport

/// Keeps credentials in the desktop's keyring: GNOME Keyring, KWallet, KeePassXC, or another provider of the Secret
/// Service.
///
/// Every record is an item of the default collection, which the person sees under the program's name, for example in
/// "Passwords and Keys". Removing the item there signs the program out. An item's attributes do not identify the person.
///
/// libsecret and GLib are loaded when the cache is first used; a program that has a `KeyringTokenCache` and does not
/// use it starts without them. No call blocks the caller's thread: GLib has a thread of its own. A read
/// takes at most five seconds, a write fifteen, and a cancelled task's call ends at once. The cache remembers a record until
/// a process changes it; reading the record again sends no call to the keyring.
///
/// A locked keyring is an error and never looks empty. Nothing is ever written elsewhere instead. Leases, which mean
/// nothing after a crash, are files in the user's runtime directory.
///
/// ```swift
/// let configuration = ClientConfiguration(
///     clientID: clientID,
///     authority: authority,
///     cache: KeyringTokenCache(applicationName: "Example")
/// )
/// ```
public final class KeyringTokenCache: TokenCache, CorruptRecordKeeping {
    let applicationName: String
    let connector: KeyringConnector
    let memory: KeyringMemory
    let hints: KeyringHints
    let prompter: KeyringPrompter
    let files: KeyringFiles
    let mutex = KeyedMutex()
    let reservations = KeyringReservations()
    let sharing: KeyringSharing

    /// Creates a cache. Loads and asks nothing before the first use.
    ///
    /// - Parameters:
    ///   - applicationName: The name of the items that the person sees, for example "Contoso Mail".
    ///   - prompting: Whether the person is asked to unlock a locked keyring. The default is `.never`.
    public convenience init(applicationName: String, prompting: KeyringPrompting = .never) {
        self.init(applicationName: applicationName, prompting: prompting, settings: KeyringSettings(), logger: nil)
    }

    /// Creates a cache with other settings.
    ///
    /// - Parameter logger: Receives a warning if the keyring gives the stored items to no other program; `nil` means the
    ///   task's logger.
    package init(
        applicationName: String,
        prompting: KeyringPrompting = .never,
        settings: KeyringSettings = KeyringSettings(),
        logger: Logger? = nil
    ) {
        self.applicationName = applicationName
        let memory = KeyringMemory()
        let hints = KeyringHints(memory)
        connector = KeyringConnector(settings) { [weak hints] in hints?.receive($0) }
        self.memory = memory
        self.hints = hints
        files = KeyringFiles(settings)
        prompter = KeyringPrompter(prompting, files, settings)
        sharing = KeyringSharing(connector, logger)
        hints.connector = connector
    }

    /// Returns the record under `key`, or `nil`.
    ///
    /// - Throws: `.keyringLocked`, `.keyringTimedOut`, `.keyringNoService` and other errors of the family `.cache` that
    ///   begin with `keyring`, each with advice; `.cacheCorrupt` for an item that is not a record, which is renamed;
    ///   `CancellationError`.
    public func record(for key: CacheKey) async throws -> CacheRecord? {
        if key.kind == .lease { return try await files.leases().record(for: key) }
        if connector.isListening, let record = memory.record(for: key) { return record }
        // A reader of one of a provider's documents soon needs the others.
        if key.kind == .provider, let record = try await readAll(.provider, in: key.group)[key] { return record }
        await awaitKeyring(of: key)
        return try await read(key)
    }

    /// Stores `new` under `key` if the stored record is still `expected`, under a lock that all processes of the user share.
    ///
    /// - Returns: Whether the record was replaced.
    /// - Throws: As ``record(for:)``, and `.cacheBusy` if another process holds the lock for five seconds,
    ///   `.invalidArgument` for a record above 1 MiB. After `.keyringTimedOut` the record may be stored or not:
    ///   read it again.
    public func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool {
        guard key.kind != .lease else {
            return try await files.leases().replace(expected, with: new, for: key)
        }
        do {
            await awaitKeyring(of: key)
            return try await write(key, expected, new)
        } catch AuthenticationError.Code.keyringNoService where reservations.contains(key) {
            await awaitKeyring(of: key)
            return try await write(key, expected, new)
        }
    }

    /// Returns all records of one kind in `group`. Leaves out an item that is not a record.
    ///
    /// - Throws: As ``record(for:)``.
    public func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        if kind == .lease { return try await files.leases().records(of: kind, in: group) }
        return try await readAll(kind, in: group)
    }

    /// Returns the keys in `group` that change from now on, by this program, another program, or the person in "Passwords
    /// and Keys". A reader that falls behind gets the newest 64. Listening starts no keyring; while none runs, the stream
    /// is silent.
    public func changes(in group: CacheGroup) -> AsyncStream<CacheKey>? {
        // Hints about leases and in-place writes come from the file system. If its directory cannot be watched, readers
        // look from time to time.
        hints.stream(of: group, and: try? files.leases().changesHereAndElsewhere(in: group))
    }

    /// Opens the keyring and takes a lock, as a write does first. Asks the person to unlock the keyring if this cache may
    /// ask. Stores nothing.
    ///
    /// - Throws: As ``record(for:)``.
    public func checkWritable(in group: CacheGroup) async throws {
        _ = try await openCollection()
        try await files.locks().take(for: CacheKey(group: group, kind: .lease, name: "check")).end()
    }

    /// Opens the keyring, and takes the record's lock and gives it back. A reserved write waits for five seconds if the
    /// keyring is being restarted.
    ///
    /// - Throws: As ``replace(_:with:for:)``.
    public func reserve(_ bytes: Int, for key: CacheKey) async throws -> (any TokenCacheReservation)? {
        guard key.kind != .lease else { return try await files.leases().reserve(bytes, for: key) }
        _ = try await openCollection()
        try await files.locks().take(for: key).end()
        return reservations.add(key)
    }

    /// Asks the keyring for its state. Stores nothing, and does not ask the person to unlock the keyring. A collection
    /// without a password is unlocked, as by every reader.
    ///
    /// - Throws: As ``record(for:)``, except `.keyringLocked`.
    public func status() async throws -> KeyringStatus {
        let (connector, prompter) = (connector, prompter)
        let timeout = connector.settings.readTimeout
        do {
            return try await connector.bounded(by: timeout) {
                try await connector.withLink { link in
                    let collection = try await link.defaultCollection(within: timeout)
                    let label = try await link.property("Label", of: "Collection", at: collection, within: timeout)
                    var isLocked = try await link.isLocked(collection, within: timeout)
                    if isLocked {
                        let obstacle = Obstacle.locked(collection)
                        isLocked = try await !prompter.removeWithoutPerson(obstacle, link, within: timeout)
                    }
                    let schema = [("xdg:schema", KeyringItem.schema)]
                    let locked = isLocked ? [] : try await link.paths(with: schema, within: timeout).locked
                    let other = try await link.lockedCollection(of: locked, within: timeout)
                    return KeyringStatus(
                        provider: await link.provider(within: timeout),
                        collection: other?.label ?? label.text ?? "",
                        isLocked: isLocked || other != nil,
                        hasLockedItems: other == nil && !locked.isEmpty
                    )
                }
            }
        } catch let obstacle as Obstacle {
            throw obstacle.error
        }
    }

    /// Whether the session bus answers within a second, whatever the keyring does.
    package func reachesBus() async -> Bool {
        let settings = connector.settings
        // An error is no answer.
        let answer = try? await withDeadline(.seconds(1)) {
            try await settings.connect().call(
                "GetId",
                of: "org.freedesktop.DBus",
                at: "/org/freedesktop/DBus",
                in: "org.freedesktop.DBus",
                returning: "(s)",
                timeout: .seconds(1)
            )
        }
        return answer != nil
    }

    /// Stores the item under another kind and removes it from `key`.
    /// - Returns: The name under which the person finds the item.
    package func setAside(_ key: CacheKey, record: CacheRecord) async throws -> String? {
        try await moveAside(key) { $0.secret == KeyringItem(record, for: key).secret }
    }
}

// Leases, which are files.
extension KeyringTokenCache: LeaseLocking {
    package func lockLease(
        over expected: CacheRecord?,
        with lease: @escaping @Sendable (_ isLocked: Bool) -> CacheRecord,
        for key: CacheKey
    ) async throws -> StoredLease? {
        try await files.leases().storeLease(over: expected, with: lease, for: key)
    }

    package func isLeaseLocked(_ lease: CacheRecord, for key: CacheKey) async throws -> Bool? {
        try await files.leases().findLeaseLock(lease, for: key)
    }
}
