// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The records that were read lately, with what tells that their files have not changed since. Bounded in bytes.
struct FileMemory {
    struct Entry {
        let path: String
        let record: CacheRecord
        let fingerprint: FileFingerprint
        /// Whether an equal fingerprint proves that the content is still the same.
        let isSettled: Bool
        fileprivate(set) var lastUse: UInt64 = 0

        init(path: String, record: CacheRecord, fingerprint: FileFingerprint, isSettled: Bool) {
            self.path = path
            self.record = record
            self.fingerprint = fingerprint
            self.isSettled = isSettled
        }

        fileprivate var cost: Int { record.bytes.count + path.utf8.count + 256 }
    }

    /// The bytes that entries may take.
    let limit: Int
    private(set) var cost = 0
    private var entries: [CacheKey: Entry] = [:]
    private var uses: UInt64 = 0

    init(limit: Int) {
        self.limit = limit
    }

    mutating func entry(for key: CacheKey) -> Entry? {
        guard let index = entries.index(forKey: key) else { return nil }
        uses &+= 1
        entries.values[index].lastUse = uses
        return entries.values[index]
    }

    mutating func remember(_ entry: Entry, for key: CacheKey) {
        uses &+= 1
        var entry = entry
        entry.lastUse = uses
        cost += entry.cost - (entries.updateValue(entry, forKey: key)?.cost ?? 0)
        if cost > limit { makeRoom() }
    }

    mutating func forget(_ key: CacheKey) {
        cost -= entries.removeValue(forKey: key)?.cost ?? 0
    }

    /// Drops what was used longest ago until a quarter is free, so that this is seldom needed.
    private mutating func makeRoom() {
        for (key, _) in entries.sorted(by: { $0.value.lastUse < $1.value.lastUse }) {
            if cost <= limit / 4 * 3 { return }
            forget(key)
        }
    }
}
