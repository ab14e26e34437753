// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension PublicClientApplication {
    /// Returns the accounts that are signed in at this provider in the cache's group, sorted by username.
    ///
    /// Costs one sweep of the cache and no network. In a group that several programs share, the accounts of all of them
    /// are listed.
    ///
    /// - Throws: `AuthenticationError.cache` when the cache cannot be read; `CancellationError`.
    public func allAccounts() async throws -> [Account] {
        try await environment.store.allSnapshots().accounts(inScope: configuration.authority.accountScope)
    }

    /// Returns the account with an identifier, or `nil` if it is not signed in.
    ///
    /// - Throws: The errors of ``allAccounts()``.
    public func account(withID id: Account.ID) async throws -> Account? {
        if configuration.authority.policy == nil {
            let (store, record) = (environment.store, recordID(of: id))
            if let stuck = store.stuck(record) { return stuck.account }
            if let snapshot = try await store.snapshot(for: record) { return snapshot.account }
        }
        return try await allAccounts().first { $0.id == id }
    }

    /// Returns the accounts with a username, compared case-insensitively. There may be several.
    ///
    /// - Throws: The errors of ``allAccounts()``.
    public func accounts(withUsername username: String) async throws -> [Account] {
        let username = username.lowercased()
        return try await allAccounts().filter { $0.username?.lowercased() == username }
    }

    /// Returns the account with Microsoft's home account identifier (`uid.utid`), compared case-insensitively.
    ///
    /// A B2C identifier that names a policy also finds the person's account.
    ///
    /// - Throws: The errors of ``allAccounts()``.
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

    /// Signs an account out on this computer: removes its tokens, for all programs of the group and all B2C policies.
    ///
    /// Needs no network. The browser keeps its own session with the provider, which ``signOut(_:parameters:)`` can end.
    /// So that this session does not sign the person in again without asking, the next sign-in prompts, unless its
    /// parameters set a prompt. A refresh that is under way does not bring the account back. Removing an account that
    /// is not signed in is not an error.
    ///
    /// - Throws: `AuthenticationError.cache` when the cache cannot be written, or when the program's own tokens are
    ///   removed but records of the group's other programs or of other policies could not be read; `CancellationError`.
    public func remove(_ account: Account) async throws {
        let removed = try await AccountRemoval(environment: environment, context: environment.context(nil)).run(account)
        if let failure = removed.failure { throw failure }
    }

    private func recordID(of id: Account.ID) -> RecordID {
        RecordID(partition: environment.partition, accountID: id.rawValue)
    }
}
