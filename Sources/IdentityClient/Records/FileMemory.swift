// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import SystemSupport

/// The recently read records and the fingerprints that prove their files unchanged. Bounded in bytes.
struct FileMemory {
    /// A record as it was read. It never changes, so a hit copies one reference.
    final class Entry: Sendable {
        let path: String
        let record: CacheRecord
        let fingerprint: FileFingerprint
        /// Whether an equal fingerprint proves that the content is still the same.
        let isSettled: Bool

        init(path: String, record: CacheRecord, fingerprint: FileFingerprint, isSettled: Bool) {
            self.path = path
            self.record = record
            self.fingerprint = fingerprint
            self.isSettled = isSettled
        }

        fileprivate var cost: Int { record.bytes.count + path.utf8.count + 256 }
    }

    /// An entry's place. The lock that guards the memory guards it too.
    private final class Slot {
        let key: CacheKey
        let entry: Entry
        var lastUse: UInt64

        init(_ entry: Entry, for key: CacheKey, lastUse: UInt64) {
            self.key = key
            self.entry = entry
            self.lastUse = lastUse
        }
    }

    /// The bytes that entries may take.
    let limit: Int
    private(set) var cost = 0
    private var slots: [CacheKey: Slot] = [:]
    /// The last requested record: most programs request the same record again and again, and comparing is faster than
    /// hashing.
    private var latest: Slot?
    private var uses: UInt64 = 0

    init(limit: Int) {
        self.limit = limit
    }

    /// - Parameter counts: Whether this is a use. A sweep of all records does not count as a use of any record.
    mutating func entry(for key: CacheKey, counts: Bool = true) -> Entry? {
        if !counts { return slots[key]?.entry }
        guard let slot = slot(for: key) else { return nil }
        uses &+= 1
        slot.lastUse = uses
        return slot.entry
    }

    private mutating func slot(for key: CacheKey) -> Slot? {
        if let latest, latest.key == key { return latest }
        guard let slot = slots[key] else { return nil }
        latest = slot
        return slot
    }

    /// - Parameter makesRoom: Whether other records are dropped to make room. A record that a sweep has read drops no
    ///   other record: a sweep of more records than there is room for would drop them all, including those in use, and
    ///   the next sweep would find none either.
    mutating func remember(_ entry: Entry, for key: CacheKey, makesRoom: Bool = true) {
        forget(key)
        guard makesRoom || cost + entry.cost <= limit else { return }
        uses &+= 1
        slots[key] = Slot(entry, for: key, lastUse: uses)
        cost += entry.cost
        if cost > limit { makeRoom() }
    }

    mutating func forget(_ key: CacheKey) {
        guard let slot = slots.removeValue(forKey: key) else { return }
        if latest === slot { latest = nil }
        cost -= slot.entry.cost
    }

    /// Drops the least recently used records until a quarter of the memory is free, so that this is seldom needed.
    private mutating func makeRoom() {
        for slot in slots.values.sorted(by: { $0.lastUse < $1.lastUse }) {
            if cost <= limit / 4 * 3 { return }
            forget(slot.key)
        }
    }
}
