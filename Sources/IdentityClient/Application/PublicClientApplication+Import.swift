// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

extension PublicClientApplication {
    /// Copies the client's accounts at this provider from another cache. An account that is signed in already stays as
    /// it is, and `source` is not changed.
    ///
    /// - Returns: The accounts that `source` has, and whether each is new here.
    /// - Throws: `AuthenticationError.cache` when one of the caches cannot be used; `CancellationError`.
    package func importAccounts(from source: any TokenCache) async throws -> [(account: Account, isNew: Bool)] {
        let store = environment.store
        let other = CredentialStore(cache: source, group: store.group, clientID: store.clientID)
        var accounts: [(account: Account, isNew: Bool)] = []
        for snapshot in try await other.allSnapshots().snapshots.values {
            var credentials = snapshot.credentials
            guard Authority.accountScope(ofPartition: credentials.partition) == configuration.authority.accountScope,
                credentials.clientID == store.clientID
            else { continue }
            credentials.signInID = SecureRandom.token(bytes: 16)
            let id = RecordID(partition: credentials.partition, accountID: credentials.accountID.rawValue)
            let stored = try await store.update(id) { $0 ?? credentials }
            accounts.append((snapshot.account, stored?.credentials.signInID == credentials.signInID))
        }
        return accounts.sorted { ($0.account.username ?? "") < ($1.account.username ?? "") }
    }
}
