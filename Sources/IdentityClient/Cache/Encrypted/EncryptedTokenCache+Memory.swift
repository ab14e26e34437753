// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The records that were decrypted lately, with the bytes they came from. Bounded in bytes.
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

    /// What is in `sealed`, if that was decrypted or encrypted here. Costs no comparison while it is the same array.
    ///
    /// - Parameter counts: Whether this is a use. A sweep of all records says nothing of which are used.
    mutating func record(in sealed: CacheRecord, for key: CacheKey, counts: Bool = true) -> CacheRecord? {
        guard let index = entries.index(forKey: key), entries.values[index].sealed == sealed else { return nil }
        if counts {
            uses &+= 1
            entries.values[index].lastUse = uses
        }
        entries.values[index].sealed = sealed
        return entries.values[index].record
    }

    /// Keeps what is in `sealed`; `nil` for both forgets the key.
    ///
    /// - Parameter makesRoom: Whether others give way to it; not to one that a sweep has decrypted.
    /// - Returns: The record, in the array that was kept before if that has the same bytes.
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

    /// Drops what was used longest ago until a quarter is free, so that this is seldom needed.
    private mutating func makeRoom() {
        for (key, entry) in entries.sorted(by: { $0.value.lastUse < $1.value.lastUse }) {
            if cost <= limit / 4 * 3 { return }
            entries[key] = nil
            cost -= entry.cost
        }
    }
}

/// Fetches an encryption key once for any number of callers, and remembers it.
final class EncryptionKeySource: Sendable {
    private let provider: any EncryptionKeyProvider
    private let known = Mutex<EncryptionKey?>(nil)
    private let flight = SingleFlight<Bool, EncryptionKey>()

    init(_ provider: any EncryptionKeyProvider) {
        self.provider = provider
    }

    /// The key to write with.
    func key() async throws -> EncryptionKey {
        if let key = known.withLock({ $0 }) { return key }
        let key = try await fetched()
        return known.withLock { known in
            let first = known ?? key
            known = first
            return first
        }
    }

    /// The key that a program has which begins now.
    func newestKey() async throws -> EncryptionKey {
        let key = try await fetched()
        known.withLock { $0 = key }
        return key
    }

    /// The key with an identifier if there is one, else some key.
    ///
    /// Another program may have begun with a new key since this one fetched its own: so it is fetched again.
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
