// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import OAuthWire

/// A person who is signed in, as one provider knows them.
///
/// Give the same value to `acquireTokenSilently`. Only ``id`` identifies the person. Names and addresses do not: they
/// can pass to another person.
///
/// ```swift
/// for account in try await app.allAccounts() {
///     print(account.displayName ?? account.username ?? account.id.rawValue)
/// }
/// ```
public struct Account: Identifiable, Hashable, Sendable {
    /// Identifies a person at a provider. Opaque; safe to keep in settings.
    ///
    /// ```swift
    /// settings.lastAccount = account.id
    /// ```
    public struct ID: RawRepresentable, Hashable, Codable, Sendable, CustomStringConvertible {
        /// The identifier: `uid.utid` at Microsoft's providers, else the issuer and the subject joined by `|`.
        public let rawValue: String

        /// Wraps an identifier that was kept.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The identifier.
        public var description: String { rawValue }

        /// Whether both are the same bytes: texts that only look the same, as a letter with its accent in one character or
        /// in two, name two people.
        public static func == (first: ID, second: ID) -> Bool { WireText.areSame(first.rawValue, second.rawValue) }
    }

    /// Identifies the person at this provider, across all tenants and B2C policies.
    public let id: ID

    /// The host, and port, of the provider that the person signed in at.
    public let environment: String

    /// The name that the person signs in with, if the provider sends it. Use it for display and as a login hint only.
    public let username: String?

    /// Microsoft's home account identifier as the server sent it. It equals ``id`` except at B2C, where it also names
    /// the policy.
    public let homeAccountID: String

    /// The person's profile in each tenant (B2C: each policy) that the person signed in to.
    public let tenantProfiles: [TenantProfile]

    /// The time at which the provider ends this sign-in, if it told one (`refresh_token_expires_in` and the like): a refresh may
    /// move it. In a list of several clients' accounts, the last end. Comparisons of accounts ignore it.
    public let refreshTokenExpiresOn: Date?

    /// Creates an account, for a program's tests.
    public init(
        id: ID,
        environment: String,
        username: String? = nil,
        homeAccountID: String? = nil,
        tenantProfiles: [TenantProfile] = [],
        refreshTokenExpiresOn: Date? = nil
    ) {
        self.id = id
        self.environment = environment
        self.username = username
        self.homeAccountID = homeAccountID ?? id.rawValue
        self.tenantProfiles = tenantProfiles
        self.refreshTokenExpiresOn = refreshTokenExpiresOn
    }

    /// The person's display name: from the home tenant's profile if it has a name, otherwise from any profile.
    public var displayName: String? {
        (tenantProfiles.first { $0.isHomeTenant && $0.name != nil } ?? tenantProfiles.first { $0.name != nil })?.name
    }
}

/// A person's profile in one tenant.
///
/// ```swift
/// let tenants = account.tenantProfiles.map(\.tenantID)
/// ```
public struct TenantProfile: Hashable, Sendable {
    /// The tenant, or the first path segment of an OpenID Connect issuer; empty if there is neither.
    public let tenantID: String

    /// The person's identifier in this tenant: `oid`, otherwise `sub`.
    public let localAccountID: String

    /// Whether the person belongs to this tenant. `false` means that the person is a guest.
    public let isHomeTenant: Bool

    /// The person's display name.
    public let name: String?

    /// The B2C policy that the person signed in with; `nil` at other providers.
    public let policy: String?

    /// The claims of the ID token, as the JSON text of an object; `nil` without an ID token.
    ///
    /// The time claims change with every token, so comparisons of profiles and accounts ignore the claims.
    package let idTokenClaims: String?

    /// Creates a profile, for a program's tests.
    public init(
        tenantID: String,
        localAccountID: String,
        isHomeTenant: Bool = true,
        name: String? = nil,
        policy: String? = nil,
        claims: IdentityClaims? = nil
    ) {
        self.init(
            tenantID: tenantID,
            localAccountID: localAccountID,
            isHomeTenant: isHomeTenant,
            name: name,
            policy: policy,
            idTokenClaims: claims?.json
        )
    }

    package init(
        tenantID: String,
        localAccountID: String,
        isHomeTenant: Bool = true,
        name: String? = nil,
        policy: String? = nil,
        idTokenClaims: String?
    ) {
        self.tenantID = tenantID
        self.localAccountID = localAccountID
        self.isHomeTenant = isHomeTenant
        self.name = name
        self.policy = policy
        self.idTokenClaims = idTokenClaims
    }
}

extension Account {
    /// Returns whether both accounts describe the same person alike. The end of the sign-in is ignored.
    public static func == (first: Account, second: Account) -> Bool {
        first.id == second.id && first.environment == second.environment && first.username == second.username
            && first.homeAccountID == second.homeAccountID && first.tenantProfiles == second.tenantProfiles
    }

    /// Hashes the identifier.
    public func hash(into hasher: inout Hasher) { hasher.combine(id) }

    /// The values that tell accounts apart. Several of Microsoft's clouds may have the same identifier.
    struct Key: Hashable, Sendable {
        let id: ID
        let cloud: String
    }

    var key: Key { Key(id: id, cloud: CloudInstances.canonical(environment)) }
}

extension TenantProfile {
    /// Returns whether both profiles describe the person alike. The claims are ignored, because their times change with
    /// every token.
    public static func == (first: TenantProfile, second: TenantProfile) -> Bool {
        first.tenantID == second.tenantID && first.localAccountID == second.localAccountID
            && first.isHomeTenant == second.isHomeTenant && first.name == second.name && first.policy == second.policy
    }

    /// Hashes the person's identifier.
    public func hash(into hasher: inout Hasher) { hasher.combine(localAccountID) }
}

/// The account that a program works with, and the account that it worked with before.
///
/// ```swift
/// if let account = try await app.currentAccount().current {
///     result = try await app.acquireTokenSilently(scopes: scopes, account: account)
/// }
/// ```
public struct CurrentAccount: Hashable, Sendable {
    /// The account to work with; `nil` if no account is signed in.
    public let current: Account?

    /// The previously current account, signed out or not; `nil` if there was none or it has not changed.
    ///
    /// For a signed-out account, only the identifier, the environment and the username are known.
    public let previous: Account?

    /// Creates the pair, for a program's tests.
    public init(current: Account?, previous: Account? = nil) {
        self.current = current
        self.previous = previous
    }
}

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
    @nonexhaustive public enum Kind: Hashable, Sendable {
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
