// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization
import SystemSupport

/// A store for credentials. Implementations store opaque bytes; the library decides what they mean.
///
/// Many tasks use a cache at once, and possibly many processes use its storage. A cache must never wait without a
/// bound: a call ends with a result, with an error, or soon after its task was cancelled. Throw
/// `AuthenticationError(.cache, …)` or one of its sub-codes if the storage is unavailable; any other error is wrapped
/// as `.cache`. Test an implementation with `TokenCacheConformance` of the testing product.
///
/// ```swift
/// while true {
///     let old = try await cache.record(for: key)
///     if try await cache.replace(old, with: changed(old), for: key) { break }
/// }
/// ```
public protocol TokenCache: Sendable {
    /// Returns the record under `key`, or `nil`. One lookup: the cost must not grow with the number of records.
    func record(for key: CacheKey) async throws -> CacheRecord?

    /// Compares and replaces: stores `new` under `key` if the stored record is still `expected`, as one indivisible step
    /// for every process that shares the storage. `nil` as `expected` means "if absent"; `nil` as `new` means "remove".
    /// - Returns: Whether the record was replaced. `false` is not an error: another writer was first.
    func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool

    /// Returns all records of one kind in `group`, in one sweep.
    func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord]

    /// Returns the keys of records that change, in this process or another, as hints; `nil` (the default) if the
    /// storage cannot tell.
    ///
    /// The library also polls: a lost hint costs time, never correctness.
    func changes(in group: CacheGroup) -> AsyncStream<CacheKey>?

    /// Checks whether records of `group` could be written now. The library calls it before a person signs in, so that
    /// no sign-in is wasted on tokens that cannot be stored. The default does nothing.
    ///
    /// It stores and changes no record. Anything it creates for the check has a name of its own and is removed
    /// afterwards. It involves the person only if writing would: to unlock a keyring, for example.
    /// - Throws: The errors of ``replace(_:with:for:)``.
    func checkWritable(in group: CacheGroup) async throws

    /// Reserves what the next write of the record under `key` needs: room for `bytes` bytes, a lock that is free, a
    /// keyring that is open and answers. The library calls it before it sends a refresh token, because a provider that
    /// rotates refresh tokens has spent the old one when the new one arrives. If this call throws, nothing is sent.
    ///
    /// The next ``replace(_:with:for:)`` under `key` by the same cache uses what was reserved. A longer record, and a
    /// write after that, are written as without a reservation. A reservation must not keep other writers from any
    /// record, because it lasts as long as a request: check that a lock is free, and give it back.
    ///
    /// The default calls ``checkWritable(in:)`` and returns `nil`. A cache around another cache passes the call on.
    /// - Returns: The reservation, which the caller releases; `nil` if there is nothing to give back.
    /// - Throws: The errors of ``replace(_:with:for:)``. Then nothing is reserved.
    func reserve(_ bytes: Int, for key: CacheKey) async throws -> (any TokenCacheReservation)?
}

/// Room and other means that a cache keeps ready for one write.
///
/// ```swift
/// let reservation = try await cache.reserve(16_384, for: key)
/// _ = try await cache.replace(old, with: new, for: key)
/// await reservation?.release()
/// ```
public protocol TokenCacheReservation: AnyObject, Sendable {
    /// Gives back what no write has used. Further calls do nothing.
    ///
    /// A reservation that is dropped gives back the same by itself; one of a process that died is given back by the
    /// system, or by the next process.
    func release() async
}

extension TokenCache {
    /// Returns `nil`: no hints.
    public func changes(in group: CacheGroup) -> AsyncStream<CacheKey>? {
        nil
    }

    /// Does nothing: records are assumed to be writable.
    public func checkWritable(in group: CacheGroup) async throws {}

    /// Calls ``checkWritable(in:)``, and reserves nothing.
    public func reserve(_ bytes: Int, for key: CacheKey) async throws -> (any TokenCacheReservation)? {
        try await checkWritable(in: key.group)
        return nil
    }
}

/// A cache that can set an unreadable record aside and keep it for inspection.
package protocol CorruptRecordKeeping: TokenCache {
    /// Whether the cache can do so. A cache around another cache returns that cache's value. The default is `true`.
    var keepsCorruptRecords: Bool { get }

    /// Moves `record` away from `key` and keeps it, if the storage outlasts the program.
    ///
    /// - Returns: The record's new location, for the report; `nil` if it was not kept.
    /// - Throws: `.cacheBusy` when another record is stored under `key` meanwhile: read it again. `.cache` and its
    ///   other second levels when the storage fails.
    func setAside(_ key: CacheKey, record: CacheRecord) async throws -> String?
}

extension CorruptRecordKeeping {
    package var keepsCorruptRecords: Bool { true }
}

/// The set of programs that share records: one client alone, or a group that several programs name.
///
/// A named group stands in for a keychain sharing group. It is a trust domain: every member can read every other
/// member's tokens.
///
/// ```swift
/// configuration.cacheGroup = try CacheGroup("com.example.suite")  // the suite's programs share one sign-in
/// ```
public struct CacheGroup: Hashable, Codable, Sendable {
    /// The group's name: 1 to 64 of the characters `a-z`, `0-9`, `.`, `-` and `_`, not beginning with a dot.
    public let name: String

    /// Creates a group that every program naming it shares.
    ///
    /// - Parameter name: For example `com.example.suite`. Upper-case letters are lowered.
    /// - Throws: `AuthenticationError` of the family `.configuration` when the name is empty, too long or contains other characters.
    public init(_ name: String) throws {
        let name = name.lowercased()
        guard Self.isValid(name) else {
            throw AuthenticationError(
                .invalidArgument,
                "The cache group's name must be 1 to 64 of the characters a-z, 0-9, '.', '-', '_' and not begin with a dot."
            )
        }
        self.name = name
    }

    package init(unchecked name: String) {
        self.name = name
    }

    /// Reads the name, which is checked as by ``init(_:)``.
    public init(from decoder: any Decoder) throws {
        try self.init(decoder.singleValueContainer().decode(String.self))
    }

    /// Writes the name.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(name)
    }

    private static func isValid(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count) && name.utf8.first != UInt8(ascii: ".")
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
                case UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"): true
                default: false
                }
            }
    }
}

extension CacheGroup {
    /// Returns the group of one client alone. Programs of other clients do not read it.
    public static func application(_ clientID: ClientID) -> CacheGroup {
        CacheGroup(unchecked: "client-" + Digest.hexadecimal(of: [clientID.rawValue]).prefix(32))
    }
}

extension CacheGroup {
    /// The group of the records that are kept beside a store that this group shares with other programs.
    ///
    /// - Parameter store: A name of the store. It is not readable in the group's name.
    package func beside(_ store: String) -> CacheGroup {
        CacheGroup(unchecked: "beside-" + Digest.hexadecimal(of: ["beside", store, name]).prefix(32))
    }
}

/// The name of one record in a TokenCache: a group, a kind and a name.
///
/// The library creates keys; a cache stores and compares them. All three parts are printable ASCII without a path
/// separator, so that they can be parts of a file name, a column or an attribute.
///
/// ```swift
/// let key = CacheKey(group: group, kind: .account, name: name)
/// let record = try await cache.record(for: key)
/// ```
public struct CacheKey: Hashable, Sendable {
    /// The programs that share the record.
    public let group: CacheGroup

    /// The purpose of the record.
    public let kind: Kind

    /// 64 lower-case hexadecimal digits; they reveal neither a person nor a tenant.
    public let name: String

    /// Creates a key, for the library and for tests of a cache.
    public init(group: CacheGroup, kind: Kind, name: String) {
        self.group = group
        self.kind = kind
        self.name = name
    }

    /// Hashes the name alone, because two keys of a cache rarely share a name.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
    }
}

extension CacheKey {
    /// The purpose of a record. Later versions may add kinds: a cache treats all kinds alike.
    ///
    /// ```swift
    /// let file = "\(key.kind.rawValue)-\(key.name).json"
    /// ```
    public struct Kind: RawRepresentable, Hashable, Sendable {
        /// The kind as a short lower-case ASCII word.
        public let rawValue: String

        /// Creates a kind from its word.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The record of one account, as one client sees it: profiles, ID tokens, refresh token, access tokens.
        public static let account = Kind(rawValue: "account")

        /// The record of one client's data in a group, apart from its accounts.
        public static let application = Kind(rawValue: "application")

        /// The record of a provider's published metadata and keys. It may be lost at any time.
        public static let provider = Kind(rawValue: "provider")

        /// The exclusive right to refresh one credential. Volatile storage is enough, and it needs no sync.
        public static let lease = Kind(rawValue: "lease")
    }
}

extension CacheKey {
    /// The key of the lease that guards the refresh of the credentials under this key.
    package var lease: CacheKey {
        CacheKey(group: group, kind: .lease, name: name)
    }

    /// The key of the credentials whose refresh the lease under this key guards.
    var credential: CacheKey {
        CacheKey(group: group, kind: .account, name: name)
    }
}

/// Opaque bytes that a TokenCache keeps. They contain secrets: never log them.
///
/// ```swift
/// let isStored = try await cache.replace(nil, with: CacheRecord(bytes: bytes), for: key)
/// ```
public struct CacheRecord: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable
{
    /// The bytes, at most 1 MiB.
    public let bytes: [UInt8]

    /// Wraps bytes that a cache has read or a test has made.
    public init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The number of bytes, without their content.
    public var description: String {
        "CacheRecord(\(bytes.count) bytes)"
    }

    /// The same as ``description``.
    public var debugDescription: String {
        description
    }

    /// A mirror with the number of bytes only, so that `dump` reveals nothing.
    public var customMirror: Mirror {
        Mirror(self, children: ["count": bytes.count])
    }
}

/// A cache that can lock a lease for as long as its holder lives. The kernel releases the lock when the holder's process
/// ends, in whatever way.
///
/// A cache around another cache passes both calls on. All keys are of the kind `lease`.
package protocol LeaseLocking: TokenCache {
    /// Stores a lease if the stored record is still `expected`. The lease is locked before another process can read it.
    ///
    /// - Parameter lease: Makes the lease. It gets whether the lease will be locked, which the lease tells its readers.
    /// - Returns: `nil` if another writer was first.
    func lockLease(
        over expected: CacheRecord?,
        with lease: @escaping @Sendable (_ isLocked: Bool) -> CacheRecord,
        for key: CacheKey
    ) async throws -> StoredLease?

    /// Returns whether the lock of `lease`, which was stored with a lock, is held; `nil` if this process cannot know. A
    /// lease that is not stored any more is held by no process.
    func isLeaseLocked(_ lease: CacheRecord, for key: CacheKey) async throws -> Bool?
}

/// A lease as it was stored, and its lock; `nil` if it has none.
package struct StoredLease: Sendable {
    package let record: CacheRecord
    package let lock: LeaseLock?

    package init(_ record: CacheRecord, lock: LeaseLock?) {
        self.record = record
        self.lock = lock
    }
}

/// The lock of a stored lease. It ends with ``end()``, with this object or with the process.
package final class LeaseLock: Sendable {
    private let file: Mutex<Descriptor?>

    init(_ file: consuming Descriptor) {
        self.file = Mutex(file)
    }

    deinit {
        end()
    }

    /// Releases the lock, also for a child process that was forked under it.
    package func end() {
        file.withLock { file in
            file?.unlock()
            file = nil
        }
    }
}

extension TokenCache {
    /// Stores a lease as ``LeaseLocking/lockLease(over:with:for:)`` does, without a lock if this cache has none.
    package func storeLease(
        over expected: CacheRecord?,
        with lease: @escaping @Sendable (_ isLocked: Bool) -> CacheRecord,
        for key: CacheKey
    ) async throws -> StoredLease? {
        if let cache = self as? any LeaseLocking {
            return try await cache.lockLease(over: expected, with: lease, for: key)
        }
        let record = lease(false)
        return try await replace(expected, with: record, for: key) ? StoredLease(record, lock: nil) : nil
    }

    /// Returns what ``LeaseLocking/isLeaseLocked(_:for:)`` does; `nil` if this cache has no locks.
    package func findLeaseLock(_ lease: CacheRecord, for key: CacheKey) async throws -> Bool? {
        try await (self as? any LeaseLocking)?.isLeaseLocked(lease, for: key)
    }
}
