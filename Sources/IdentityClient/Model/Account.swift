// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

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
    /// settings.lastAccount = account.id.rawValue
    /// ```
    public struct ID: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
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

    /// The host (and port) of the provider the person signed in at.
    public let environment: String

    /// The name that the person signs in with, if the provider sends it. Use it for display and as a login hint only.
    public let username: String?

    /// Microsoft's home account identifier as the server sent it. It equals ``id`` except at B2C, where it also names
    /// the policy.
    public let homeAccountID: String

    /// The person's profile in each tenant (B2C: each policy) that the person signed in to.
    public let tenantProfiles: [TenantProfile]

    /// Creates an account, for a program's tests.
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

    /// The claims of the ID token, as the JSON text of an object; `nil` without an ID token. They are personal data.
    ///
    /// The time claims change with every token, so comparisons of profiles and accounts ignore the claims.
    public let idTokenClaims: String?

    /// Creates a profile, for a program's tests.
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

extension Account {
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

    /// Hashes the values that identify the profile.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(tenantID)
        hasher.combine(localAccountID)
        hasher.combine(policy)
    }
}
