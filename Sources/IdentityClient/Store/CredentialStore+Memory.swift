// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

// The decoded records in memory. The least recently used ones are dropped first.
extension CredentialStore {
    /// The limit for the bytes of decoded records in memory.
    private static let memoryLimit = 4 * 1024 * 1024

    func entry(for id: RecordID, in state: inout State) -> Entry {
        if let latest = state.latest, latest.id == id { return latest }
        let entry: Entry
        if let known = state.entries[id] {
            entry = known
        } else {
            entry = Entry(Location(id: id, key: id.key(in: group, clientID: clientID)))
            state.entries[id] = entry
        }
        state.latest = entry
        return entry
    }

    func remember(_ snapshot: CredentialSnapshot, for id: RecordID) {
        state.withLock { state in
            let entry = entry(for: id, in: &state)
            state.bytes += snapshot.size - (entry.snapshot?.size ?? 0)
            entry.snapshot = snapshot
            entry.lastUse = state.tick
            if state.bytes > Self.memoryLimit { Self.evict(&state) }
        }
    }

    func forget(_ id: RecordID) {
        state.withLock { state in
            state.latest = nil
            state.bytes -= state.entries.removeValue(forKey: id)?.snapshot?.size ?? 0
        }
    }

    func forget(_ key: CacheKey) {
        let ids = state.withLock { $0.entries.filter { $0.value.location.key == key }.map(\.key) }
        for id in ids { forget(id) }
    }

    /// Drops the least recently used half, so that the sorting is paid for rarely.
    private static func evict(_ state: inout State) {
        state.latest = nil
        for (id, entry) in state.entries.sorted(by: { $0.value.lastUse < $1.value.lastUse }) {
            guard state.bytes > memoryLimit / 2 else { break }
            state.bytes -= entry.snapshot?.size ?? 0
            state.entries[id] = nil
        }
    }
}
