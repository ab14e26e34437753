// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Encrypts what another cache keeps, with AES-256-GCM and a key that is kept elsewhere.
///
/// ```swift
/// let cache = EncryptedTokenCache(FileTokenCache(), keyFrom: keyring)
/// ```
///
/// Each record is bound to its group, kind and name: one that was changed, put in another's place, written with
/// another key or in clear text is refused with `.cacheUndecryptable`. It stays where it is, and never looks as if nobody
/// were signed in. Leases, which hold no secrets, pass as they are. An old version of a record cannot be told from the
/// newest: who can write to the storage can put it back.
///
/// An encrypted record is 41 bytes longer than what is in it.
///
/// A lookup costs what it costs in the cache beneath, as long as that returns the bytes it returned before. The key is
/// asked for with the first record that is read or written, and again for a record that is new: another program may have
/// begun with a new key meanwhile. It stays in memory as long as this object.
public final class EncryptedTokenCache: TokenCache {
    private let base: any TokenCache
    private let keys: EncryptionKeySource
    private let memory = Mutex(DecryptedMemory(limit: 8 << 20))

    /// Encrypts what `base` keeps.
    public init(_ base: any TokenCache, key: EncryptionKey) {
        self.base = base
        keys = EncryptionKeySource(key)
    }

    /// Encrypts what `base` keeps, with a key that is fetched when it is first needed.
    public init(_ base: any TokenCache, keyFrom provider: any EncryptionKeyProvider) {
        self.base = base
        keys = EncryptionKeySource(provider)
    }

    /// The record under `key`, or `nil`, for which no encryption key is needed.
    ///
    /// - Throws: `.cacheUndecryptable` when it cannot be decrypted, `.cacheNewerVersion` when a newer version of the
    ///   library encrypted it, `.cacheKeyUnavailable` or another `.cache` when the key cannot be had, and what the cache
    ///   beneath throws.
    public func record(for key: CacheKey) async throws -> CacheRecord? {
        guard let stored = try await base.record(for: key) else { return nil }
        return try await opened(stored, for: key)
    }

    /// Stores `new` if what is stored is still `expected`; the cache beneath compares the encrypted bytes that were read.
    ///
    /// - Returns: Whether the record was replaced.
    /// - Throws: As ``record(for:)``; `.invalidArgument` for a record above 1 MiB.
    public func replace(
        _ expected: CacheRecord?,
        with new: CacheRecord?,
        for key: CacheKey
    ) async throws -> Bool {
        if key.kind == .lease { return try await base.replace(expected, with: new, for: key) }
        // Once more where somebody encrypted the same record anew in between: it is still the expected one.
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

    /// All records of one kind in `group`, in one sweep of the cache beneath.
    ///
    /// - Throws: As ``record(for:)``, for the first record that cannot be decrypted.
    public func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        var records = try await base.records(of: kind, in: group)
        for (key, stored) in records { records[key] = try await opened(stored, for: key, isSweep: true) }
        return records
    }

    /// The hints of the cache beneath.
    public func changes(in group: CacheGroup) -> AsyncStream<CacheKey>? {
        base.changes(in: group)
    }

    /// Asks the cache beneath, and for the key.
    ///
    /// - Throws: `.cacheKeyUnavailable` or another `.cache` when the key cannot be had, and what the cache beneath throws.
    public func checkWritable(in group: CacheGroup) async throws {
        try await base.checkWritable(in: group)
        _ = try await keys.key()
    }

    /// Removes the records of `group` that cannot be decrypted: what is left to do when a key is lost for good.
    ///
    /// Never do this unasked. Whose tokens were in them has to sign in again; at the provider, the sessions live on.
    /// Records that a newer version of the library encrypted stay.
    ///
    /// - Returns: How many records were removed.
    /// - Throws: `.cacheKeyUnavailable` or another `.cache` when the key cannot be had now, and what the cache beneath
    ///   throws.
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

    /// Lets the cache beneath set aside the encrypted form of a record that was decrypted but means nothing.
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

extension EncryptedTokenCache {
    /// What is in a record of the cache beneath: in the same array as before while that has the same bytes.
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
