// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import IdentityClient

/// The log lines about accounts that other programs sign in and out. The window reports its own actions itself.
struct AccountNews {
    /// The accounts that this window signs out, until their removal is reported.
    private var leaving: Set<Account.ID> = []
    /// The accounts that this window has signed in, until that is reported.
    private var arriving: Set<Account.ID> = []
    /// The accounts added during a sign-in in this window; one of them may be its result.
    private var arrived: [Account]?

    /// Notes that a sign-in begins in this window.
    mutating func willSignIn() { arrived = arrived ?? [] }

    /// Notes that the sign-in ended with this account, or without an account. Returns the lines for the accounts added
    /// by other programs.
    mutating func didSignIn(_ account: Account?) -> [String] {
        let others = (arrived ?? []).filter { $0.id != account?.id }
        if let account, others.count == arrived?.count { arriving.insert(account.id) }
        arrived = nil
        return others.map(Self.arrival)
    }

    /// Notes that this window signs an account out.
    mutating func willSignOut(_ account: Account) { leaving.insert(account.id) }

    /// Returns the line for a change, or `nil` if this window caused the change.
    mutating func line(for change: AccountChange) -> String? {
        let account = change.account
        switch change.kind {
        case .added, .signedIn:
            guard arrived == nil else {
                arrived?.append(account)
                return nil
            }
            if arriving.remove(account.id) != nil { return nil }
            return Self.arrival(account)
        case .removed:
            if leaving.remove(account.id) != nil { return nil }
            return tr("{0} was signed out, in another program.", account.label)
        case .updated: return tr("The details of {0} have changed.", account.label)
        @unknown default: return nil
        }
    }

    private static func arrival(_ account: Account) -> String {
        tr("{0} has signed in, in another program.", account.label)
    }
}

extension Account {
    /// The account's name as people see it.
    var label: String { username ?? displayName ?? tr("an account without a name") }
}
