// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import IdentityClient

/// What the log says about people who come and go in other programs; this window tells of its own doings itself.
struct AccountNews {
    /// Who was signed out with this window's button, and is not yet reported as gone.
    private var leaving: Set<Account.ID> = []
    /// Who came while a sign-in was under way here: it may be the one.
    private var arrived: [Account]?

    /// A sign-in begins here.
    mutating func willSignIn() { arrived = arrived ?? [] }

    /// The sign-in has ended, and who came of it; the lines for those who came from elsewhere meanwhile.
    mutating func didSignIn(_ account: Account?) -> [String] {
        let others = (arrived ?? []).filter { $0.id != account?.id }
        arrived = nil
        return others.map(Self.arrival)
    }

    /// Somebody is signed out here.
    mutating func willSignOut(_ account: Account) { leaving.insert(account.id) }

    /// The line for a change; `nil` for one that this window causes.
    mutating func line(for change: AccountChange) -> String? {
        let account = change.account
        switch change.kind {
        case .added:
            guard arrived == nil else {
                arrived?.append(account)
                return nil
            }
            return Self.arrival(account)
        case .removed:
            if leaving.remove(account.id) != nil { return nil }
            return tr("{0} was signed out, in another program.", account.label)
        case .updated: return tr("What is known of {0} has changed.", account.label)
        }
    }

    private static func arrival(_ account: Account) -> String {
        tr("{0} has signed in, in another program.", account.label)
    }
}

extension Account {
    /// What people call the account.
    var label: String { username ?? displayName ?? tr("somebody without a name") }
}
