// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A person who is signed in, as one provider knows them.
///
/// Give the same value to `acquireTokenSilently`. What identifies the person is ``id`` alone; never a name or an
/// address, which change hands.
///
/// ```swift
/// for account in try await app.allAccounts() {
///     print(account.displayName ?? account.username ?? account.id.rawValue)
/// }
/// ```
public struct Account: Identifiable, Hashable, Sendable {
    /// Identifies a person at a provider. Opaque; safe to keep in settings.
    public struct ID: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The identifier: `uid.utid` at Microsoft's providers, else the issuer and the subject joined by `|`.
        public let rawValue: String

        /// Wraps an identifier that was kept.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The identifier.
        public var description: String { rawValue }
    }

    /// Identifies the person at this provider, across all tenants and B2C policies.
    public let id: ID

    /// The host (and port) of the provider the person signed in at.
    public let environment: String

    /// What the person types to sign in, where the provider tells it. For display and as a login hint only.
    public let username: String?

    /// Microsoft's home account identifier as the server sent it; the same as ``id`` but for B2C, where it also names
    /// the policy.
    public let homeAccountID: String

    /// How each tenant (B2C: each policy) that the person signed in to knows them.
    public let tenantProfiles: [TenantProfile]

    /// Creates an account; a program's tests do this.
    public init(
        id: ID,
        environment: String,
        username: String? = nil,
        homeAccountID: String? = nil,
        tenantProfiles: [TenantProfile] = []
    ) {
        self.id = id
        self.environment = environment
        self.username = username
        self.homeAccountID = homeAccountID ?? id.rawValue
        self.tenantProfiles = tenantProfiles
    }

    /// The person's name for display: from the home tenant's profile, else any.
    public var displayName: String? {
        (tenantProfiles.first { $0.isHomeTenant && $0.name != nil } ?? tenantProfiles.first { $0.name != nil })?.name
    }
}

/// How one tenant knows a person.
///
/// ```swift
/// let tenants = account.tenantProfiles.map(\.tenantID)
/// ```
public struct TenantProfile: Hashable, Sendable {
    /// The tenant, or the first path segment of an OpenID Connect issuer; empty where there is none.
    public let tenantID: String

    /// The person's identifier in this tenant: `oid`, else `sub`.
    public let localAccountID: String

    /// Whether this is the tenant the person belongs to, rather than a guest of.
    public let isHomeTenant: Bool

    /// The person's name for display.
    public let name: String?

    /// The B2C policy the person signed in with; `nil` elsewhere.
    public let policy: String?

    /// The claims of the ID token, as JSON text of an object; `nil` where there was none. They are personal data.
    ///
    /// Their times change with every token, so they do not count when profiles or accounts are compared.
    public let idTokenClaims: String?

    /// Creates a profile; a program's tests do this.
    public init(
        tenantID: String,
        localAccountID: String,
        isHomeTenant: Bool = true,
        name: String? = nil,
        policy: String? = nil,
        idTokenClaims: String? = nil
    ) {
        self.tenantID = tenantID
        self.localAccountID = localAccountID
        self.isHomeTenant = isHomeTenant
        self.name = name
        self.policy = policy
        self.idTokenClaims = idTokenClaims
    }
}

extension TenantProfile {
    /// Whether both tell the same of the person; the claims, whose times change with every token, do not count.
    public static func == (first: TenantProfile, second: TenantProfile) -> Bool {
        first.tenantID == second.tenantID && first.localAccountID == second.localAccountID
            && first.isHomeTenant == second.isHomeTenant && first.name == second.name && first.policy == second.policy
    }

    /// Hashes what identifies the profile.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(tenantID)
        hasher.combine(localAccountID)
        hasher.combine(policy)
    }
}
