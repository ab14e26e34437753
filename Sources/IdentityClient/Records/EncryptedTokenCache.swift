// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization
import SystemSupport

/// A cache that encrypts another cache's records with AES-256-GCM. The key is stored separately.
///
/// ```swift
/// let cache = EncryptedTokenCache(FileTokenCache(), keyFrom: keyring)
/// ```
///
/// Each record is bound to its group, kind and name. A record that was changed, moved to another key, written with
/// another encryption key or not encrypted is refused with `.cacheUndecryptable`. The record stays in place, and the
/// person never appears to be signed out. Leases contain no secrets and are not encrypted. The cache cannot tell an old
/// version of a record from the newest: anyone who can write to the storage can restore an old version.
///
/// An encrypted record is 41 bytes longer than its content.
///
/// A lookup costs as much as in the underlying cache, as long as that cache returns the same bytes as before. The key
/// is fetched with the first record that is read or written, and again for a new record, because another program may
/// have started to use a new key. It stays in memory as long as this object.
public final class EncryptedTokenCache: TokenCache {
    private let base: any TokenCache
    private let keys: EncryptionKeySource
    private let memory = Mutex(DecryptedMemory(limit: 8 << 20))

    /// Creates a cache that encrypts the records of `base`.
    public init(_ base: any TokenCache, key: EncryptionKey) {
        self.base = base
        keys = EncryptionKeySource(key)
    }

    /// Creates a cache that encrypts the records of `base` with a key that is fetched on first use.
    public init(_ base: any TokenCache, keyFrom provider: any EncryptionKeyProvider) {
        self.base = base
        keys = EncryptionKeySource(provider)
    }

    /// Returns the record under `key`, or `nil` if there is none, which needs no encryption key.
    ///
    /// - Throws: `.cacheUndecryptable` when the record cannot be decrypted, `.cacheNewerVersion` when a newer version
    ///   of the library encrypted it, `.cacheKeyUnavailable` or another `.cache` code when the key is unavailable, and
    ///   every error of the underlying cache.
    public func record(for key: CacheKey) async throws -> CacheRecord? {
        guard let stored = try await base.record(for: key) else { return nil }
        return try await opened(stored, for: key)
    }

    /// Stores `new` if the stored record is still `expected`. The underlying cache compares the encrypted bytes that
    /// were read.
    ///
    /// - Returns: Whether the record was replaced.
    /// - Throws: As ``record(for:)``; `.invalidArgument` for a record above 1 MiB.
    public func replace(
        _ expected: CacheRecord?,
        with new: CacheRecord?,
        for key: CacheKey
    ) async throws -> Bool {
        if key.kind == .lease { return try await base.replace(expected, with: new, for: key) }
        // Try again if another writer encrypted the same record anew in between: its content is still the expected
        // record.
        for _ in 0..<8 {
            let stored = try await base.record(for: key)
            guard try await isStored(expected, as: stored, for: key) else { return false }
            let sealed = try await sealed(new, for: key, isNew: stored == nil)
            guard try await base.replace(stored, with: sealed, for: key) else { continue }
            _ = memory.withLock { $0.remember(new, sealed: sealed, for: key) }
            return true
        }
        return false
    }

    /// Returns all records of one kind in `group`, in one sweep of the underlying cache.
    ///
    /// - Throws: As ``record(for:)``, for the first record that cannot be decrypted.
    public func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        var records = try await base.records(of: kind, in: group)
        for (key, stored) in records { records[key] = try await opened(stored, for: key, isSweep: true) }
        return records
    }

    /// Returns the hints of the underlying cache.
    public func changes(in group: CacheGroup) -> AsyncStream<CacheKey>? {
        base.changes(in: group)
    }

    /// Checks the underlying cache and fetches the key.
    ///
    /// - Throws: `.cacheKeyUnavailable` or another `.cache` code when the key is unavailable, and every error of the
    ///   underlying cache.
    public func checkWritable(in group: CacheGroup) async throws {
        try await base.checkWritable(in: group)
        _ = try await keys.key()
    }

    /// Fetches the key, and reserves a write of the encrypted record in the underlying cache.
    ///
    /// - Throws: As ``checkWritable(in:)``.
    public func reserve(_ bytes: Int, for key: CacheKey) async throws -> (any TokenCacheReservation)? {
        if key.kind != .lease { _ = try await keys.key() }
        return try await base.reserve(bytes + SealedRecord.overhead, for: key)
    }

    /// Removes the records of `group` that cannot be decrypted: the last resort when a key is lost for good.
    ///
    /// Never call this without asking the person. The people whose tokens are removed have to sign in again; their
    /// sessions at the provider stay open. Records that a newer version of the library encrypted are kept.
    ///
    /// - Returns: The number of removed records.
    /// - Throws: `.cacheKeyUnavailable` or another `.cache` code when the key is unavailable now, and every error of
    ///   the underlying cache.
    @discardableResult
    public func removeUndecryptableRecords(in group: CacheGroup) async throws -> Int {
        _ = try await keys.key()
        var removed = 0
        for kind in [CacheKey.Kind.account, .application, .provider] {
            for (key, stored) in try await base.records(of: kind, in: group) {
                do {
                    _ = try await opened(stored, for: key)
                } catch AuthenticationError.Code.cacheUndecryptable {
                    if try await base.replace(stored, with: nil, for: key) { removed += 1 }
                } catch AuthenticationError.Code.cacheNewerVersion {
                    continue
                }
            }
        }
        return removed
    }
}

extension EncryptedTokenCache: CorruptRecordKeeping {
    package var keepsCorruptRecords: Bool {
        (base as? any CorruptRecordKeeping)?.keepsCorruptRecords ?? false
    }

    /// Sets aside, in the underlying cache, the encrypted form of a record that was decrypted but has no valid content.
    package func setAside(_ key: CacheKey, record: CacheRecord) async throws -> String? {
        guard let keeper = base as? any CorruptRecordKeeping else {
            throw AuthenticationError(.cache, "The cache that is encrypted cannot set a record aside.")
        }
        guard let stored = try await base.record(for: key), try await opened(stored, for: key) == record else {
            throw AuthenticationError(.cacheBusy, "The record was changed meanwhile. Read it again.")
        }
        return try await keeper.setAside(key, record: stored)
    }
}

// Leases, which are not encrypted.
extension EncryptedTokenCache: LeaseLocking {
    package func lockLease(
        over expected: CacheRecord?,
        with lease: @escaping @Sendable (_ isLocked: Bool) -> CacheRecord,
        for key: CacheKey
    ) async throws -> StoredLease? {
        try await base.storeLease(over: expected, with: lease, for: key)
    }

    package func isLeaseLocked(_ lease: CacheRecord, for key: CacheKey) async throws -> Bool? {
        try await base.findLeaseLock(lease, for: key)
    }
}

extension EncryptedTokenCache {
    /// Decrypts a record of the underlying cache. Returns the same array as before as long as the bytes are the same.
    private func opened(
        _ stored: CacheRecord,
        for key: CacheKey,
        isSweep: Bool = false
    ) async throws -> CacheRecord {
        if key.kind == .lease { return stored }
        if let record = memory.withLock({ $0.record(in: stored, for: key, counts: !isSweep) }) { return record }
        let sealed = try SealedRecord(stored, for: key)
        let record = try sealed.open(with: try await keys.key(named: sealed.keyID))
        return memory.withLock { $0.remember(record, sealed: stored, for: key, makesRoom: !isSweep) } ?? record
    }

    private func sealed(_ record: CacheRecord?, for key: CacheKey, isNew: Bool) async throws -> CacheRecord? {
        guard let record else { return nil }
        guard record.bytes.count <= SecureFile.recordLimit else {
            throw AuthenticationError(
                .invalidArgument,
                "A cache record has at most 1 MiB; this one has \(record.bytes.count) bytes."
            )
        }
        return try SealedRecord.seal(record, for: key, with: await isNew ? keys.newestKey() : keys.key())
    }

    private func isStored(_ expected: CacheRecord?, as stored: CacheRecord?, for key: CacheKey) async throws -> Bool {
        guard let expected, let stored else { return expected == nil && stored == nil }
        return try await opened(stored, for: key) == expected
    }
}

/// The recently decrypted records and the bytes they came from. Its size in bytes is bounded.
struct DecryptedMemory {
    private struct Entry {
        var sealed: CacheRecord
        let record: CacheRecord
        var lastUse: UInt64

        var cost: Int { sealed.bytes.count + record.bytes.count + 256 }
    }

    /// The bytes that entries may take.
    let limit: Int
    private(set) var cost = 0
    private var entries: [CacheKey: Entry] = [:]
    private var uses: UInt64 = 0

    init(limit: Int) {
        self.limit = limit
    }

    /// Returns the content of `sealed`, if it was decrypted or encrypted here. Costs no comparison as long as the array
    /// is the same.
    ///
    /// - Parameter counts: Whether this is a use. A sweep of all records does not count as a use of any record.
    mutating func record(in sealed: CacheRecord, for key: CacheKey, counts: Bool = true) -> CacheRecord? {
        guard let index = entries.index(forKey: key), entries.values[index].sealed == sealed else { return nil }
        if counts {
            uses &+= 1
            entries.values[index].lastUse = uses
        }
        entries.values[index].sealed = sealed
        return entries.values[index].record
    }

    /// Keeps the content of `sealed`; `nil` for both forgets the key.
    ///
    /// - Parameter makesRoom: Whether other records are dropped to make room. A record that a sweep has decrypted drops
    ///   no other record.
    /// - Returns: The record, in the previously kept array if that has the same bytes.
    @discardableResult
    mutating func remember(
        _ record: CacheRecord?,
        sealed: CacheRecord?,
        for key: CacheKey,
        makesRoom: Bool = true
    ) -> CacheRecord? {
        let old = entries.removeValue(forKey: key)
        cost -= old?.cost ?? 0
        guard let record, let sealed else { return nil }
        uses &+= 1
        let kept = old?.record == record ? old?.record ?? record : record
        let entry = Entry(sealed: sealed, record: kept, lastUse: uses)
        guard makesRoom || cost + entry.cost <= limit else { return kept }
        entries[key] = entry
        cost += entry.cost
        if cost > limit { makeRoom() }
        return kept
    }

    /// Drops the least recently used records until a quarter of the memory is free, so that this is seldom needed.
    private mutating func makeRoom() {
        for (key, entry) in entries.sorted(by: { $0.value.lastUse < $1.value.lastUse }) {
            if cost <= limit / 4 * 3 { return }
            entries[key] = nil
            cost -= entry.cost
        }
    }
}

/// The source of an encryption key: fetches it once for all concurrent callers, and keeps it.
final class EncryptionKeySource: Sendable {
    private let provider: any EncryptionKeyProvider
    private let known = Mutex<EncryptionKey?>(nil)
    private let flight = SingleFlight<Bool, EncryptionKey>()

    init(_ provider: any EncryptionKeyProvider) {
        self.provider = provider
    }

    /// Returns the key to write with.
    func key() async throws -> EncryptionKey {
        if let key = known.withLock({ $0 }) { return key }
        let key = try await fetched()
        return known.withLock { known in
            let first = known ?? key
            known = first
            return first
        }
    }

    /// Fetches the key that a newly started program would get.
    func newestKey() async throws -> EncryptionKey {
        let key = try await fetched()
        known.withLock { $0 = key }
        return key
    }

    /// Returns the key with the given identifier if it exists, otherwise another key.
    ///
    /// Another program may have started to use a new key since this program fetched its key, so the key is fetched
    /// again.
    func key(named id: ArraySlice<UInt8>) async throws -> EncryptionKey {
        let key = try await key()
        if id.elementsEqual(key.id) { return key }
        let newer = try await fetched()
        guard id.elementsEqual(newer.id) else { return key }
        known.withLock { $0 = newer }
        return newer
    }

    private func fetched() async throws -> EncryptionKey {
        try await flight.run(true) { [provider] in
            do {
                return try await provider.encryptionKey()
            } catch let error as AuthenticationError where .cache ~= error.code {
                throw error
            } catch {
                throw AuthenticationError(
                    .cacheKeyUnavailable,
                    "The key that the token cache is encrypted with cannot be had now (\(type(of: error))). "
                        + "The tokens are still there; try again when it can.",
                    underlyingError: error
                )
            }
        }
    }
}
