// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// A sign-in, a sign-out or a profile update, by this program or another program that shares its records.
///
/// ```swift
/// for await change in try await app.accountChanges() where change.kind == .removed {
///     forget(change.account)
/// }
/// ```
public struct AccountChange: Hashable, Sendable {
    /// The kind of a change.
    ///
    /// ```swift
    /// if change.kind == .removed { closeWindows(of: change.account) }
    /// ```
    public enum Kind: Hashable, Sendable {
        /// A person signed in who was not signed in before.
        case added
        /// The account's name, username, tenants or other profile data changed.
        case updated
        /// A person signed in again to an account that was signed in: a program that was refused tokens for it gets tokens
        /// now. In a file or item that is shared with other MSALs, only a sign-in by this library is told from a refresh.
        case signedIn
        /// An account was signed out on this computer.
        case removed
    }

    /// The kind of the change.
    public let kind: Kind

    /// The account as it is now. For a removed account: its last known state.
    public let account: Account

    /// The account before the change; `nil` if it was added.
    public let old: Account?

    /// The account after the change; `nil` if it was removed.
    public var new: Account? { kind == .removed ? nil : account }

    /// Creates the change for a new sign-in, for a program's tests.
    public static func added(_ account: Account) -> AccountChange {
        AccountChange(kind: .added, account: account, old: nil)
    }

    /// Creates the change for an updated profile, for a program's tests.
    public static func updated(from old: Account, to new: Account) -> AccountChange {
        AccountChange(kind: .updated, account: new, old: old)
    }

    /// Creates the change for a repeated sign-in, for a program's tests.
    public static func signedIn(_ account: Account) -> AccountChange {
        AccountChange(kind: .signedIn, account: account, old: account)
    }

    /// Creates the change for a sign-out, for a program's tests.
    public static func removed(_ account: Account) -> AccountChange {
        AccountChange(kind: .removed, account: account, old: account)
    }
}

extension AccountChange {
    /// The identifiers of sign-ins by account.
    typealias SignIns = [Account.Key: Set<String>]

    /// Returns the changes from one list of accounts to another: removed accounts first, then updated accounts and repeated
    /// sign-ins, then added accounts.
    ///
    /// - Parameter signIns: The identifiers of each account's sign-ins, before and after.
    static func changes(
        from old: [Account],
        to new: [Account],
        signIns: (before: SignIns, now: SignIns) = ([:], [:])
    ) -> [AccountChange] {
        let before = Dictionary(old.map { ($0.key, $0) }) { first, _ in first }
        let now = Set(new.map(\.key))
        var changes = old.filter { !now.contains($0.key) }.map(removed)
        for account in new {
            guard let known = before[account.key] else { continue }
            if !account.looksLike(known) { changes.append(updated(from: known, to: account)) }
            if !(signIns.now[account.key] ?? []).isSubset(of: signIns.before[account.key] ?? []) {
                changes.append(AccountChange(kind: .signedIn, account: account, old: known))
            }
        }
        return changes + new.filter { before[$0.key] == nil }.map(added)
    }
}

extension Account {
    /// Returns whether both accounts describe the person alike, claims included. Claims about the ID token itself
    /// change with every refresh and are ignored.
    func looksLike(_ other: Account) -> Bool {
        self == other && zip(tenantProfiles, other.tenantProfiles).allSatisfy { $0.claimsLookLike($1) }
    }
}

extension TenantProfile {
    /// The claims that describe the token and its sign-in rather than the person. The last three are Microsoft's.
    private static let claimsOfTheToken: Set<String> = [
        "iat", "nbf", "exp", "jti", "nonce", "auth_time", "at_hash", "c_hash", "s_hash", "sid", "aio", "rh", "uti",
    ]

    fileprivate func claimsLookLike(_ other: TenantProfile) -> Bool {
        idTokenClaims == other.idTokenClaims || personalClaims == other.personalClaims
    }

    private var personalClaims: [String: JSONValue]? {
        guard let claims = idTokenClaims, let object = try? JSONObject(parsing: Array(claims.utf8)) else { return nil }
        var personal: [String: JSONValue] = [:]
        for (name, value) in object.members where !Self.claimsOfTheToken.contains(name) { personal[name] = value }
        return personal
    }
}
