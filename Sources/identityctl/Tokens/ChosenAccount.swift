// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

extension PublicClientApplication {
    /// Returns the account that `--account` names. Without the option, returns the only account, or the default account
    /// of several.
    ///
    /// - Parameter takesDefault: Whether the default account stands in if no account is named.
    /// - Throws: `.noTokensFound` if there is no account, `AccountNotChosen` if there are several to choose from.
    func chosenAccount(_ wanted: Given?, takesDefault: Bool = true) async throws -> Account {
        guard let wanted else {
            let accounts = try await allAccounts()
            guard let account = accounts.first else {
                throw AuthenticationError(.noTokensFound, "No account is signed in here with this client and provider.")
            }
            if accounts.count == 1 { return account }
            guard takesDefault, let chosen = try await defaultAccount() else {
                throw AccountNotChosen(
                    "\(accounts.count) accounts are signed in. Choose one with --account:" + Self.list(accounts)
                )
            }
            return chosen
        }
        if let account = try await account(withID: Account.ID(rawValue: wanted.text)) { return account }
        let accounts = try await accounts(named: wanted.text)
        guard let account = accounts.first else {
            throw AuthenticationError(
                .noTokensFound,
                "'\(wanted.label)' is not signed in here with this client and provider."
            )
        }
        guard accounts.count == 1 else {
            throw wanted.error("several accounts have this name. Give the id of one:" + Self.list(accounts))
        }
        return account
    }

    /// Returns the account that signed in last, or was chosen since. Returns `nil` after its sign-out.
    func defaultAccount() async throws -> Account? {
        do {
            return try await currentAccount().current
        } catch AuthenticationError.Code.accountSelectionRequired {
            return nil
        }
    }

    /// Returns the accounts with a username, or without one and with a display name, as 'identityctl accounts' lists them.
    private func accounts(named name: String) async throws -> [Account] {
        let accounts = try await accounts(withUsername: name)
        guard accounts.isEmpty else { return accounts }
        return try await allAccounts().filter { account in
            account.username == nil && account.displayName?.utf8.elementsEqual(name.utf8) == true
        }
    }

    private static func list(_ accounts: [Account]) -> String {
        accounts.prefix(20).map { " \($0.label)" }.joined(separator: ";") + (accounts.count > 20 ? "; …" : "")
    }
}

extension Account {
    /// The account's name in a sentence, for a person. Harmless to a terminal.
    var shortLabel: String {
        (username ?? displayName ?? id.rawValue).printable
    }

    /// The account's name in a choice, with the details that distinguish it from others.
    var label: String {
        ((username ?? displayName).map { "\($0) (\(id.rawValue))" } ?? id.rawValue).printable
    }
}
