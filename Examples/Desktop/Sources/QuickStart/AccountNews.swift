// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import IdentityClient

/// What the log says about people who come and go, here or in another program.
struct AccountNews {
    /// Who was signed out with this window's button, and is not yet reported as gone.
    private var leaving: Set<Account.ID> = []
    /// Who signed in through this window.
    private var own: Set<Account.ID> = []

    mutating func willSignOut(_ account: Account) { leaving.insert(account.id) }

    mutating func didSignIn(_ account: Account) { own.insert(account.id) }

    /// The line for a change; `nil` for one that this window has caused and told already.
    mutating func line(for change: AccountChange) -> String? {
        let account = change.account
        switch change.kind {
        case .added:
            return own.contains(account.id) ? nil : tr("{0} has signed in, in another program.", account.label)
        case .removed:
            own.remove(account.id)
            if leaving.remove(account.id) != nil { return nil }
            return tr("{0} was signed out, in another program.", account.label)
        case .updated: return tr("What is known of {0} has changed.", account.label)
        }
    }
}

extension Account {
    /// What people call the account.
    var label: String { username ?? displayName ?? tr("somebody without a name") }
}
