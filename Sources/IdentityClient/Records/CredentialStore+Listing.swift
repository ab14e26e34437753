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
        let (known, reported, unsaved) = state.withLock { state in
            if !state.reported.isEmpty { state.reported = state.reported.filter { records[$0.key] != nil } }
            // An account that another process has signed out in the meantime is not listed, although this process has
            // not forgotten it yet.
            let unsaved = state.unsaved.values.filter { records[$0.snapshot.key] != nil || !$0.writes.hadRecord }
            return (state.listing, state.reported, unsaved)
        }
        var listing = known
        if known.records != records {
            var snapshots = [CacheKey: CredentialSnapshot](minimumCapacity: records.count)
            for (key, record) in records where reported[key] != record {
                let isKnown = known.records[key] == record
                snapshots[key] = isKnown ? known.snapshots[key] : try await reporting(record, key: key)
            }
            listing = Listing(records: records, snapshots: snapshots)
            state.withLock { [listing] in $0.listing = listing }
        }
        guard !unsaved.isEmpty else { return listing }
        var snapshots = listing.snapshots
        for commit in unsaved { snapshots[commit.snapshot.key] = commit.snapshot }
        return Listing(records: records, snapshots: snapshots)
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
        let records: [CacheKey: CacheRecord]
        package let snapshots: [CacheKey: CredentialSnapshot]
        /// The accounts of each provider, computed on first use.
        private let accounts = Mutex<[String: [Account]]>([:])

        init(records: [CacheKey: CacheRecord] = [:], snapshots: [CacheKey: CredentialSnapshot] = [:]) {
            self.records = records
            self.snapshots = snapshots
        }

        /// The accounts of an application object, each once and sorted by username.
        func accounts(in clouds: Clouds) -> [Account] {
            guard clouds.areSeveral else { return accounts(inScope: clouds.accountScope) }
            let scopes = Set(snapshots.values.map { Authority.accountScope(ofPartition: $0.credentials.partition) })
            return Account.sorted(scopes.filter(clouds.contain(scope:)).flatMap(accounts(inScope:)))
        }

        /// The sign-ins of one client. Another client's sign-in gives this one no tokens.
        func signIns(of clientID: String, in clouds: Clouds) -> AccountChange.SignIns {
            var signIns: AccountChange.SignIns = [:]
            for snapshot in snapshots.values
            where snapshot.credentials.clientID == clientID
                && clouds.contain(partition: snapshot.credentials.partition)
            {
                signIns[snapshot.account.key, default: []].insert(snapshot.credentials.signInID)
            }
            return signIns
        }

        func accounts(inScope scope: String) -> [Account] {
            if let known = accounts.withLock({ $0[scope] }) { return known }
            var views: [Account.ID: [CredentialSnapshot]] = [:]
            for snapshot in snapshots.values
            where Authority.accountScope(ofPartition: snapshot.credentials.partition) == scope {
                views[snapshot.account.id, default: []].append(snapshot)
            }
            let sorted = Account.sorted(views.values.map { Account.merged($0) })
            accounts.withLock { $0[scope] = sorted }
            return sorted
        }
    }
}

extension Account {
    /// Sorts by the bytes of username, identifier and cloud, so that the order is the same each time.
    fileprivate static func sorted(_ accounts: [Account]) -> [Account] {
        accounts.map { (key: $0.sortKey, account: $0) }.sorted { $0.key.lexicographicallyPrecedes($1.key) }
            .map(\.account)
    }

    private var sortKey: [UInt8] {
        Array((username ?? "").utf8) + [0] + id.rawValue.utf8 + [0] + environment.utf8
    }

    /// Merges the views of several clients and policies of one person. The order is fixed, so that the value stays the
    /// same while the records do.
    fileprivate static func merged(_ views: [CredentialSnapshot]) -> Account {
        guard views.count > 1 else { return views[0].account }
        let views = views.sorted {
            ($0.account.homeAccountID, $0.key.name) < ($1.account.homeAccountID, $1.key.name)
        }.map(\.account)
        var profiles: [TenantProfile] = []
        for profile in views.flatMap(\.tenantProfiles)
        where !profiles.contains(where: { $0.tenantID == profile.tenantID && $0.policy == profile.policy }) {
            profiles.append(profile)
        }
        return Account(
            id: views[0].id,
            environment: views[0].environment,
            username: views.lazy.compactMap(\.username).first,
            homeAccountID: views[0].homeAccountID,
            tenantProfiles: profiles,
            refreshTokenExpiresOn: views.lazy.compactMap(\.refreshTokenExpiresOn).max()
        )
    }
}
