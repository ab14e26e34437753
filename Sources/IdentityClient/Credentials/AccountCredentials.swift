// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import OAuthWire

/// The credentials of one account, as one client sees them: a pure value, changed only by its own functions.
package struct AccountCredentials: Hashable, Sendable {
    /// Drawn anew at each sign-in, so that an older refresh cannot bring back what was signed out.
    package var signInID: String
    /// The partition of the authority that the account signed in at.
    package var partition: String
    package var environment: String
    package var clientID: String
    package var accountID: Account.ID
    /// The home account identifier as the server sent it. It names the policy at B2C.
    package var homeAccountID: String
    /// The profiles, the newest first.
    package var profiles: [CachedProfile] = []
    package var refreshToken: CachedRefreshToken?
    package var accessTokens: [CachedAccessToken] = []
    /// The secret with which other programs of the publisher sign in (Native SSO), if the sign-in asked for it.
    package var deviceSecret: String?
    /// Members that another version or library wrote.
    package var unknown = JSONObject()
    /// The version of the schema that the record was written with.
    package var version = Self.currentVersion

    package static let currentVersion = 1

    package init(
        signInID: String,
        partition: String,
        environment: String,
        clientID: String,
        accountID: Account.ID,
        homeAccountID: String
    ) {
        self.signInID = signInID
        self.partition = partition
        self.environment = environment
        self.clientID = clientID
        self.accountID = accountID
        self.homeAccountID = homeAccountID
    }
}

/// A person's profile in one tenant, and the ID token that contains it.
package struct CachedProfile: Hashable, Sendable {
    package var realm: String
    package var localAccountID: String
    package var username: String?
    package var name: String?
    package var policy: String?
    package var isHomeTenant: Bool
    package var idToken: String?
    package var unknown = JSONObject()
    /// Members of the ID token's entity that another version or library wrote.
    package var unknownOfIDToken = JSONObject()
}

/// The refresh token, which the server may rotate at each use.
package struct CachedRefreshToken: Hashable, Sendable {
    package var secret: String
    package var familyID: String?
    /// The scopes that were granted when the person signed in; empty if unknown.
    package var scopes: [String] = []
    /// The scopes that were requested when the person signed in, but not granted.
    package var declinedScopes: [String] = []
    package var modifiedAt: Int64
    /// The provider's refusals of this token since the provider last accepted it, the latest at the end.
    package var refusals: [RefreshRefusal] = []
    package var unknown = JSONObject()
}

extension AccountCredentials {
    /// The account as a program sees it.
    package var account: Account {
        Account(
            id: accountID,
            environment: environment,
            username: profiles.lazy.compactMap(\.username).first,
            homeAccountID: homeAccountID,
            tenantProfiles: profiles.map(\.tenantProfile)
        )
    }
}

extension CachedProfile {
    package var tenantProfile: TenantProfile {
        TenantProfile(
            tenantID: realm,
            localAccountID: localAccountID,
            isHomeTenant: isHomeTenant,
            name: name,
            policy: policy,
            idTokenClaims: idToken.flatMap(Self.claimsText)
        )
    }

    /// Returns the payload of a compact JWT, as it stands in the token.
    private static func claimsText(of idToken: String) -> String? {
        let parts = idToken.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = Base64URL.decode(String(parts[1])) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}
