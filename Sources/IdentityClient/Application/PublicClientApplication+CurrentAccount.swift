// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// The current account, for programs in which one person works at a time.
extension PublicClientApplication {
    /// Returns the account to work with, and the previous account.
    ///
    /// The current account is the account that signed in last, or was chosen last with ``setCurrentAccount(_:)``, in
    /// this program or in another process with the same client and cache. If only one account is signed in, that
    /// account is the current account. After the current account has signed out, there is no current account until the
    /// next sign-in, and the signed-out account is the previous account: a program that compares the two knows what to
    /// show. The call changes nothing, and costs one sweep of the cache.
    ///
    /// - Throws: `AuthenticationError.Code.accountSelectionRequired` when several accounts are signed in and none was
    ///   chosen: choose an account, or let the person choose. `.cache` when the cache cannot be read;
    ///   `CancellationError`.
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

    /// Makes a signed-in account the current account, for all processes with the same client and cache.
    ///
    /// - Throws: `AuthenticationError.Code.noTokensFound` when the account is not signed in; `.cache` when the cache
    ///   cannot be read or written; `CancellationError`.
    public func setCurrentAccount(_ account: Account) async throws {
        guard let account = try await self.account(withID: account.id) else {
            throw AuthenticationError(.noTokensFound, "This account is not signed in here.")
        }
        try await environment.accountsInUse.update { $0.choose(account) }
    }
}
