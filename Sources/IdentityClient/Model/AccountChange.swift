// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// Someone signed in or out, or is known differently, in this program or another one that shares its records.
///
/// ```swift
/// for await change in try await app.accountChanges() where change.kind == .removed {
///     forget(change.account)
/// }
/// ```
public struct AccountChange: Hashable, Sendable {
    /// What happened.
    public enum Kind: Hashable, Sendable {
        /// Someone signed in who was not signed in before.
        case added
        /// What is known of an account has changed: its name, its username, a tenant.
        case updated
        /// An account was signed out on this computer.
        case removed
    }

    /// What happened.
    public let kind: Kind

    /// The account as it is now; as it last was when it was removed.
    public let account: Account

    /// The account as it was before; `nil` when it was added.
    public let old: Account?

    /// The account as it is now; `nil` when it was removed.
    public var new: Account? { kind == .removed ? nil : account }

    /// Someone signed in; a program's tests make this.
    public static func added(_ account: Account) -> AccountChange {
        AccountChange(kind: .added, account: account, old: nil)
    }

    /// An account is known differently; a program's tests make this.
    public static func updated(from old: Account, to new: Account) -> AccountChange {
        AccountChange(kind: .updated, account: new, old: old)
    }

    /// An account was signed out; a program's tests make this.
    public static func removed(_ account: Account) -> AccountChange {
        AccountChange(kind: .removed, account: account, old: account)
    }
}

extension AccountChange {
    /// What leads from one list of accounts to another: those who went, then those who stayed, then those who came.
    static func changes(from old: [Account], to new: [Account]) -> [AccountChange] {
        let before = Dictionary(old.map { ($0.id, $0) }) { first, _ in first }
        let now = Set(new.map(\.id))
        var changes = old.filter { !now.contains($0.id) }.map(removed)
        for account in new {
            if let known = before[account.id], !account.looksLike(known) {
                changes.append(updated(from: known, to: account))
            }
        }
        return changes + new.filter { before[$0.id] == nil }.map(added)
    }
}

extension Account {
    /// Whether both say the same of the person, claims included. What an ID token says of itself is new with every
    /// refresh and does not count.
    func looksLike(_ other: Account) -> Bool {
        self == other && zip(tenantProfiles, other.tenantProfiles).allSatisfy { $0.claimsLookLike($1) }
    }
}

extension TenantProfile {
    /// Claims about the token and the sign-in that led to it rather than about the person; the last three are
    /// Microsoft's.
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
