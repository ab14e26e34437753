// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

extension CredentialStore {
    /// All credentials in the group, those of other clients too. Only records that changed are decoded.
    ///
    /// A damaged record is set aside and reported once, one of a newer version left alone and reported once; the next
    /// call lists the others.
    package func allSnapshots() async throws -> Listing {
        try await listing(of: allRecords())
    }

    /// The credentials in the group that can be read, and what is to be reported of others.
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
            // What another process has signed out meanwhile is not listed, though it is not forgotten here yet.
            (state.listing, state.unsaved.values.filter { records[$0.snapshot.key] != nil || !$0.writes.hadRecord })
        }
        if listing.records != records {
            listing = listing.changed(try await changes(from: listing, to: records), records: records)
            state.withLock { [listing] in $0.listing = listing }
        }
        guard !unsaved.isEmpty else { return listing }
        return listing.changed(unsaved.map { ($0.snapshot.key, $0.snapshot) }, records: records)
    }

    /// What became of the records that are new, gone or different.
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

    /// Reads a record; one that cannot be read is remembered, so that it is reported once.
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

    /// The records of a group, and what they mean. The same object as before while no record changed.
    package final class Listing: Sendable {
        typealias Change = (key: CacheKey, snapshot: CredentialSnapshot?)

        let records: [CacheKey: CacheRecord]
        package let snapshots: [CacheKey: CredentialSnapshot]
        /// What a program is shown, computed when it is first asked for.
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

        /// The accounts of one provider, as a program is shown them.
        func accounts(inScope scope: String) -> [Account] {
            if let known = lists.withLock({ $0[scope] }) { return known.accounts }
            let list = AccountList(snapshots.values, inScope: scope)
            lists.withLock { $0[scope] = list }
            return list.accounts
        }

        /// What there is after `changes`; the lists that were asked for are patched rather than made anew.
        func changed(_ changes: [Change], records: [CacheKey: CacheRecord]) -> Listing {
            var snapshots = snapshots
            // Each patch moves half a list on average: many cost more than to sort it.
            var lists = changes.count > snapshots.count / 16 + 1 ? [:] : lists.withLock { $0 }
            for (key, snapshot) in changes {
                for scope in lists.keys { lists[scope]?.replace(snapshots[key], with: snapshot) }
                snapshots[key] = snapshot
            }
            return Listing(records: records, snapshots: snapshots, lists: lists)
        }
    }
}
