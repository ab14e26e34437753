// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

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
