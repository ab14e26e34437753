// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

extension CredentialStore {
    /// All credentials in the group, those of other clients too.
    ///
    /// A damaged record is set aside and reported once; the next call lists the others.
    package func allSnapshots() async throws -> Listing {
        let records = try await wrapping { try await cache.records(of: .account, in: group) }
        let (known, unsaved, reported) = state.withLock { ($0.listing, $0.unsaved.values.map(\.snapshot), $0.reported) }
        if unsaved.isEmpty, known.records == records { return known }
        var snapshots: [CacheKey: CredentialSnapshot] = [:]
        snapshots.reserveCapacity(records.count)
        for (key, record) in records {
            if let snapshot = known.snapshots[key], snapshot.record == record {
                snapshots[key] = snapshot
            } else if reported[key] != record {
                snapshots[key] = try await reporting(record, key: key)
            }
        }
        for snapshot in unsaved { snapshots[snapshot.key] = snapshot }
        let listing = Listing(records: records, snapshots: snapshots)
        if unsaved.isEmpty { state.withLock { $0.listing = listing } }
        return listing
    }

    /// Reads a record; a damaged one is remembered, so that it is reported once.
    private func reporting(_ record: CacheRecord, key: CacheKey) async throws -> CredentialSnapshot {
        do {
            return try await decode(record, key: key)
        } catch let error as AuthenticationError where error.code == .cacheCorrupt {
            state.withLock { $0.reported[key] = record }
            throw error
        }
    }
}
