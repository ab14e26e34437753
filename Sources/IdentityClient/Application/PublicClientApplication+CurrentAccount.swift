// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// For programs in which one person works at a time.
extension PublicClientApplication {
    /// The account to work with, and the one before it.
    ///
    /// The current account is the one that signed in last, or was chosen last with ``setCurrentAccount(_:)``, in this
    /// program or in another process with the same client and cache. Where there is but one account, it is that one.
    /// After a sign-out there is none, and the account that went is the previous one, until somebody signs in: whoever
    /// compares the two knows what to say. Asking changes nothing, and costs one sweep of the cache.
    ///
    /// - Throws: `AuthenticationError.Code.accountSelectionRequired` when several accounts are signed in and none of them was
    ///   chosen: choose one, or let the person. `.cache` when the cache cannot be read; `CancellationError`.
    public func currentAccount() async throws -> CurrentAccount {
        let signedIn = try await allAccounts()
        let inUse = try await environment.accountsInUse.value()
        guard let accounts = inUse.accounts(among: signedIn) else {
            throw AuthenticationError(
                .accountSelectionRequired,
                "\(signedIn.count) accounts are signed in, and none was chosen: set the current account."
            )
        }
        return accounts
    }

    /// Makes an account that is signed in the current one, for all processes with the same client and cache.
    ///
    /// - Throws: `AuthenticationError.Code.noTokensFound` when it is not signed in; `.cache` when the cache cannot be read or
    ///   written; `CancellationError`.
    public func setCurrentAccount(_ account: Account) async throws {
        guard let account = try await self.account(withID: account.id) else {
            throw AuthenticationError(.noTokensFound, "Nobody is signed in with this account here.")
        }
        try await environment.accountsInUse.update { $0.choose(account) }
    }
}
