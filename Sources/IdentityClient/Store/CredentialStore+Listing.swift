// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

extension CredentialStore {
    /// Returns all credentials in the group, including those of other clients. Decodes only records that changed.
    ///
    /// A damaged record is set aside and reported once. A record of a newer version is left alone and reported once.
    /// The next call lists the others.
    package func allSnapshots() async throws -> Listing {
        try await listing(of: allRecords())
    }

    /// Returns the readable credentials in the group, and an error to report about the others.
    func readableSnapshots() async throws -> (Listing, AuthenticationError?) {
        let records = try await allRecords()
        var failure: AuthenticationError?
        while true {
            do {
                return (try await listing(of: records), failure)
            } catch let error as AuthenticationError where Self.isReportedOnce(error) {
                failure = failure ?? error
            }
        }
    }

    private func allRecords() async throws -> [CacheKey: CacheRecord] {
        try await wrapping { try await cache.records(of: .account, in: group) }
    }

    private func listing(of records: [CacheKey: CacheRecord]) async throws -> Listing {
        var (listing, unsaved) = state.withLock { state in
            // An account that another process has signed out in the meantime is not listed, although this process has
            // not forgotten it yet.
            (state.listing, state.unsaved.values.filter { records[$0.snapshot.key] != nil || !$0.writes.hadRecord })
        }
        if listing.records != records {
            listing = listing.changed(try await changes(from: listing, to: records), records: records)
            state.withLock { [listing] in $0.listing = listing }
        }
        guard !unsaved.isEmpty else { return listing }
        return listing.changed(unsaved.map { ($0.snapshot.key, $0.snapshot) }, records: records)
    }

    /// Returns the changes for records that are new, removed or different.
    private func changes(from known: Listing, to records: [CacheKey: CacheRecord]) async throws -> [Listing.Change] {
        let reported = state.withLock { state in
            state.reported = state.reported.filter { records[$0.key] != nil }
            return state.reported
        }
        var changes: [Listing.Change] = []
        var gone = known.records.count - records.count
        for (key, record) in records {
            let before = known.records[key]
            if before == record { continue }
            if before == nil { gone += 1 }
            changes.append((key, reported[key] == record ? nil : try await reporting(record, key: key)))
        }
        guard gone > 0 else { return changes }
        return changes + known.records.keys.filter { records[$0] == nil }.map { ($0, nil) }
    }

    /// Reads a record. Remembers a record that cannot be read, so that it is reported only once.
    private func reporting(_ record: CacheRecord, key: CacheKey) async throws -> CredentialSnapshot {
        do {
            return try await decode(record, key: key)
        } catch let error as AuthenticationError where Self.isReportedOnce(error) {
            state.withLock { $0.reported[key] = record }
            throw error
        }
    }

    private static func isReportedOnce(_ error: AuthenticationError) -> Bool {
        error.code == .cacheCorrupt || error.code == .cacheNewerVersion
    }

    /// The records of a group in decoded form. The object stays the same while no record changes.
    package final class Listing: Sendable {
        typealias Change = (key: CacheKey, snapshot: CredentialSnapshot?)

        let records: [CacheKey: CacheRecord]
        package let snapshots: [CacheKey: CredentialSnapshot]
        /// The account lists that a program sees, each computed on first use.
        private let lists: Mutex<[String: AccountList]>

        init(
            records: [CacheKey: CacheRecord] = [:],
            snapshots: [CacheKey: CredentialSnapshot] = [:],
            lists: [String: AccountList] = [:]
        ) {
            self.records = records
            self.snapshots = snapshots
            self.lists = Mutex(lists)
        }

        /// The accounts of one provider, as a program sees them.
        func accounts(inScope scope: String) -> [Account] {
            if let known = lists.withLock({ $0[scope] }) { return known.accounts }
            let list = AccountList(snapshots.values, inScope: scope)
            lists.withLock { $0[scope] = list }
            return list.accounts
        }

        /// Returns the listing after `changes`. Lists that were computed already are patched, not computed again.
        func changed(_ changes: [Change], records: [CacheKey: CacheRecord]) -> Listing {
            var snapshots = snapshots
            // Each patch moves half a list on average, so that many patches cost more than sorting it.
            var lists = changes.count > snapshots.count / 16 + 1 ? [:] : lists.withLock { $0 }
            for (key, snapshot) in changes {
                for scope in lists.keys { lists[scope]?.replace(snapshots[key], with: snapshot) }
                snapshots[key] = snapshot
            }
            return Listing(records: records, snapshots: snapshots, lists: lists)
        }
    }
}
