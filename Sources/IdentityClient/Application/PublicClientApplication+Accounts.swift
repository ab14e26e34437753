// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

extension PublicClientApplication {
    /// Everyone who is signed in at this provider in the cache's group, sorted by username.
    ///
    /// Costs one sweep of the cache and no network. In a group that several programs share, the accounts of all of them
    /// are listed.
    ///
    /// - Throws: `AuthenticationError.cache` when the cache cannot be read; `CancellationError`.
    public func allAccounts() async throws -> [Account] {
        try await environment.store.allSnapshots().accounts(inScope: configuration.authority.accountScope)
    }

    /// The account with an identifier, or `nil` when it is not signed in.
    ///
    /// - Throws: As ``allAccounts()``.
    public func account(withID id: Account.ID) async throws -> Account? {
        if configuration.authority.policy == nil,
            let snapshot = try await environment.store.snapshot(for: recordID(of: id))
        {
            return snapshot.account
        }
        return try await allAccounts().first { $0.id == id }
    }

    /// The accounts with a username, compared without regard to case. There may be several.
    ///
    /// - Throws: As ``allAccounts()``.
    public func accounts(withUsername username: String) async throws -> [Account] {
        let username = username.lowercased()
        return try await allAccounts().filter { $0.username?.lowercased() == username }
    }

    /// The account with Microsoft's home account identifier (`uid.utid`), compared without regard to case.
    ///
    /// A B2C identifier that names a policy finds the person's account as well.
    ///
    /// - Throws: As ``allAccounts()``.
    public func account(withHomeAccountID homeAccountID: String) async throws -> Account? {
        let wanted = homeAccountID.lowercased()
        let listing = try await environment.store.allSnapshots()
        let scope = configuration.authority.accountScope
        let found = listing.snapshots.values.first { snapshot in
            Authority.accountScope(ofPartition: snapshot.credentials.partition) == scope
                && (snapshot.credentials.homeAccountID.lowercased() == wanted || snapshot.account.id.rawValue == wanted)
        }
        guard let found else { return nil }
        return listing.accounts(inScope: scope).first { $0.id == found.account.id }
    }

    /// Signs an account out on this computer: its tokens are gone, for all programs of the group and all B2C policies.
    ///
    /// Needs no network. The browser keeps its own session with the provider, which ``signOut(_:_:)`` can end. So that it
    /// does not sign the person in again unasked, the next sign-in asks, unless its parameters name a prompt. A refresh
    /// that is under way does not bring the account back. Removing an account that is not there is not an error.
    ///
    /// - Throws: `AuthenticationError.cache` when the cache cannot be written; `CancellationError`.
    public func remove(_ account: Account) async throws {
        _ = try await AccountRemoval(environment: environment, context: environment.context(nil)).run(account)
    }

    private func recordID(of id: Account.ID) -> RecordID {
        RecordID(partition: environment.partition, accountID: id.rawValue)
    }
}

extension CredentialStore.Listing {
    /// The accounts of one provider, each once: what several clients and policies know of a person is merged.
    func accounts(inScope scope: String) -> [Account] {
        if let known = accounts.withLock({ $0[scope] }) { return known }
        var views: [Account.ID: [Account]] = [:]
        // In one order, so that merging gives the same value as long as the records are the same.
        for snapshot in snapshots.values.sorted(by: { $0.key.name < $1.key.name })
        where Authority.accountScope(ofPartition: snapshot.credentials.partition) == scope {
            views[snapshot.account.id, default: []].append(snapshot.account)
        }
        let merged = views.values.map(Self.merged).sorted { first, second in
            (first.username ?? "", first.id.rawValue) < (second.username ?? "", second.id.rawValue)
        }
        accounts.withLock { $0[scope] = merged }
        return merged
    }

    private static func merged(_ views: [Account]) -> Account {
        guard views.count > 1 else { return views[0] }
        let views = views.enumerated()
            .sorted { ($0.element.homeAccountID, $0.offset) < ($1.element.homeAccountID, $1.offset) }
            .map(\.element)
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
            tenantProfiles: profiles
        )
    }
}
