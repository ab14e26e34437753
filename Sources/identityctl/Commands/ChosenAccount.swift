// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

extension PublicClientApplication {
    /// The account that `--account` means; without it, the only one there is.
    ///
    /// - Throws: `.noTokensFound` when there is none, `UsageError` when there are several to choose from.
    func chosenAccount(_ wanted: Given?) async throws -> Account {
        guard let wanted else {
            let accounts = try await allAccounts()
            guard let account = accounts.first else {
                throw AuthenticationError(.noTokensFound, "Nobody is signed in here with this client and provider.")
            }
            guard accounts.count == 1 else {
                throw UsageError(
                    "\(accounts.count) accounts are signed in. Choose one with --account:" + Self.list(accounts)
                )
            }
            return account
        }
        if let account = try await account(withID: Account.ID(rawValue: wanted.text)) { return account }
        let accounts = try await accounts(withUsername: wanted.text)
        guard let account = accounts.first else {
            throw AuthenticationError(
                .noTokensFound,
                "'\(wanted.text.printable)' is not signed in here with this client and provider."
            )
        }
        guard accounts.count == 1 else {
            throw wanted.error("several accounts have this username. Give the id of one:" + Self.list(accounts))
        }
        return account
    }

    private static func list(_ accounts: [Account]) -> String {
        accounts.prefix(20).map { " \($0.label)" }.joined(separator: ";") + (accounts.count > 20 ? "; …" : "")
    }
}

extension Account {
    /// The account in a sentence: who it is to a person. Harmless to a terminal.
    var shortLabel: String {
        (username ?? displayName ?? id.rawValue).printable
    }

    /// The account in a choice: what tells it from others.
    var label: String {
        (username.map { "\($0) (\(id.rawValue))" } ?? id.rawValue).printable
    }
}
