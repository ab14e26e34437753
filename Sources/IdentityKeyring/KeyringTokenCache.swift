// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import GLibSupport
public import IdentityClient

/// Keeps credentials in the desktop's keyring: GNOME Keyring, KWallet, KeePassXC, or another provider of the Secret
/// Service.
///
/// Every record is an item of the default collection, which the person sees under the program's name, for example in
/// "Passwords and Keys". Removing it there signs the program out. Nothing in an item's attributes tells of a person.
///
/// libsecret and GLib are loaded when the cache is first used; a program that has a `KeyringTokenCache` and does not
/// use it starts without them. No call blocks the caller's thread: the work is done on a thread of the cache. A read
/// takes at most five seconds, a write fifteen, and a cancelled task's call ends at once. A record that was read is
/// remembered until a process changes it; reading it again sends no call to the keyring.
///
/// A locked keyring is an error and never looks empty. Nothing is ever written elsewhere instead. Leases, which mean
/// nothing after a crash, lie as files in the user's runtime directory.
///
/// ```swift
/// let configuration = PublicClientApplication.Configuration(
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
    let place: KeyringPlace
    let mutex = KeyedMutex()

    /// Names the program. Nothing is loaded or asked before the first use.
    ///
    /// - Parameters:
    ///   - applicationName: The name of the items that the person sees, for example "Contoso Mail".
    ///   - prompting: Whether the person is asked to unlock a locked keyring. `.never` unless given.
    public convenience init(applicationName: String, prompting: KeyringPrompting = .never) {
        self.init(applicationName: applicationName, prompting: prompting, settings: KeyringSettings())
    }

    /// The same with settings of one's own, for tests.
    package init(applicationName: String, prompting: KeyringPrompting = .never, settings: KeyringSettings) {
        self.applicationName = applicationName
        let memory = KeyringMemory()
        let hints = KeyringHints(memory)
        connector = KeyringConnector(settings) { [weak hints] in hints?.receive($0) }
        self.memory = memory
        self.hints = hints
        place = KeyringPlace(settings)
        prompter = KeyringPrompter(prompting, at: place, settings)
        hints.connector = connector
    }

    /// The record under `key`, or `nil`.
    ///
    /// - Throws: `.keyringLocked`, `.keyringTimedOut`, `.keyringNoService` and the other second levels of `.cache` that
    ///   begin with `keyring`, each with what to do about it; `.cacheCorrupt` for an item that is no record, which is set
    ///   aside; `CancellationError`.
    public func record(for key: CacheKey) async throws -> CacheRecord? {
        if key.kind == .lease { return try await place.leases().record(for: key) }
        if connector.isListening, let record = memory.record(for: key) { return record }
        // A provider has several documents, which are wanted one after the other.
        if key.kind == .provider, let record = try await readAll(.provider, in: key.group)[key] { return record }
        return try await read(key)
    }

    /// Stores `new` under `key` if what is stored is still `expected`, under a lock that all processes of the user share.
    ///
    /// - Returns: Whether the record was replaced.
    /// - Throws: As ``record(for:)``, and `.cacheBusy` when another process holds the lock for five seconds,
    ///   `.invalidArgument` for a record above 1 MiB. After `.keyringTimedOut` the record may have been stored or not:
    ///   read it again.
    public func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool {
        guard key.kind != .lease else {
            return try await place.leases().replace(expected, with: new, for: key)
        }
        return try await write(key, expected, new)
    }

    /// All records of one kind in `group`.
    ///
    /// - Throws: As ``record(for:)``. An item that is no record is left out.
    public func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        if kind == .lease { return try await place.leases().records(of: kind, in: group) }
        return try await readAll(kind, in: group)
    }

    /// The keys in `group` that change from now on, by this program, another, or the person in "Passwords and Keys"; a
    /// reader that falls behind gets the newest 64. Nothing is heard while there is no keyring, and none is started for it.
    public func changes(in group: CacheGroup) -> AsyncStream<CacheKey>? {
        // Leases, and what is written in place, are told of without the keyring; where that cannot be, they are looked at
        // from time to time.
        hints.stream(of: group, and: try? place.leases().changesHereAndElsewhere(in: group))
    }

    /// Opens the keyring and takes a lock as a write does first. The person is asked to unlock it where this cache may ask;
    /// nothing is stored.
    ///
    /// - Throws: As ``record(for:)``.
    public func checkWritable(in group: CacheGroup) async throws {
        _ = try await openCollection()
        try await place.locks().take(for: CacheKey(group: group, kind: .lease, name: "check")).end()
    }

    /// Asks the keyring for its state. Stores nothing, and does not ask the person to unlock the keyring. A collection
    /// without a password opens by itself, as it does for every reader.
    ///
    /// - Throws: As ``record(for:)``, but for `.keyringLocked`.
    public func status() async throws -> KeyringStatus {
        let (connector, prompter) = (connector, prompter)
        let timeout = connector.settings.readTimeout
        return try await connector.bounded(by: timeout) {
            try await connector.withLink { link in
                let collection = try await link.defaultCollection(within: timeout)
                let label = try await link.property("Label", of: "Collection", at: collection, within: timeout)
                var isLocked = try await link.isLocked(collection, within: timeout)
                if isLocked {
                    isLocked = try await !prompter.vanishesByItself(.locked(collection), link, within: timeout)
                }
                let schema = [("xdg:schema", KeyringItem.schema)]
                let locked = isLocked ? [] : try await link.paths(with: schema, within: timeout).locked
                return KeyringStatus(
                    provider: await link.provider(within: timeout),
                    collection: label.text ?? "",
                    isLocked: isLocked,
                    hasLockedItems: !locked.isEmpty
                )
            }
        }
    }

    /// Stores the item under another kind and removes it from `key`.
    /// - Returns: The name that the person finds the item under.
    package func setAside(_ key: CacheKey, record: CacheRecord) async throws -> String? {
        try await moveAside(key) { $0.secret == KeyringItem(record, for: key).secret }
    }
}
