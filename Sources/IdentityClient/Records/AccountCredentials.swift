// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
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
    /// The key that all tokens of the sign-in are bound to; `nil` for bearer tokens.
    package var dpopKey: DPoPKey?
    /// The users who served the sign-in's addresses on this computer.
    package var localServers = LocalServers()
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
    /// The time at which the provider ends the sign-in, if its last answer told one.
    package var expiresOn: Int64?
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
            tenantProfiles: profiles.map(\.tenantProfile),
            refreshTokenExpiresOn: refreshToken?.expiresOn.map { Date(timeIntervalSince1970: Double($0)) }
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
            idTokenClaims: idToken.flatMap(JSONWebToken.claimsText)
        )
    }
}

// The effect of a token response, and of time, on the credentials.
extension AccountCredentials {
    /// The size in bytes above which access tokens, then ID tokens, are dropped. The refresh token and the account are
    /// never dropped.
    static let softLimit = 256 * 1024

    /// Returns the credentials with a grant merged in.
    ///
    /// A response without a refresh token keeps the previous refresh token, and a response without an ID token keeps
    /// the earlier claims.
    package func applying(_ grant: TokenGrant, at now: Int64, isSignIn: Bool = false) -> AccountCredentials {
        var result = self
        if let secret = grant.response.refreshToken {
            var token = refreshToken ?? CachedRefreshToken(secret: secret, modifiedAt: now)
            token.secret = secret
            token.refusals = []
            if token.scopes.isEmpty || isSignIn { token.scopes = grant.grantedScopes }
            if isSignIn { token.declinedScopes = grant.declinedScopes }
            token.familyID = grant.response.familyID ?? token.familyID
            token.modifiedAt = now
            token.expiresOn = nil
            result.refreshToken = token
        }
        if let seconds = grant.response.refreshTokenExpiresIn { result.refreshToken?.expiresOn = now + Int64(seconds) }
        if let secret = grant.response.deviceSecret { result.deviceSecret = secret }
        if let profile = grant.profile { result.merge(profile) }
        if let token = grant.accessToken(at: now) { result.insert(token) }
        return result.tidied(at: now)
    }

    /// Returns the credentials without access tokens that are of no use any more, and below the size limit.
    package func tidied(at now: Int64) -> AccountCredentials {
        var result = self
        result.accessTokens.removeAll { !$0.isAlive(at: now) && !$0.isInExtendedLifetime(at: now) }
        var size = result.approximateSize
        result.accessTokens.sort { $0.expiresOn > $1.expiresOn }
        while size > Self.softLimit, result.accessTokens.count > 1, let last = result.accessTokens.popLast() {
            size -= last.secret.utf8.count + (last.additionalMembers?.utf8.count ?? 0)
        }
        if size > Self.softLimit {
            for index in result.profiles.indices { result.profiles[index].idToken = nil }
        }
        return result
    }

    private var approximateSize: Int {
        accessTokens.reduce(0) { $0 + $1.secret.utf8.count + ($1.additionalMembers?.utf8.count ?? 0) + 512 }
            + profiles.reduce(0) { $0 + ($1.idToken?.utf8.count ?? 0) + 512 }
    }

    /// Merges a profile. The newest profile comes first; values that it lacks are kept from the older profile.
    private mutating func merge(_ profile: CachedProfile) {
        var profile = profile
        if let index = profiles.firstIndex(where: { $0.realm == profile.realm && $0.policy == profile.policy }) {
            let old = profiles.remove(at: index)
            profile.username = profile.username ?? old.username
            profile.name = profile.name ?? old.name
            profile.unknown = old.unknown
            profile.unknownOfIDToken = old.unknownOfIDToken
        }
        profiles.insert(profile, at: 0)
    }

    /// Inserts an access token. There is one token for each scheme, tenant, set of the program's parameters and of scopes, and
    /// of certificates one for each key: tokens that the new token overlaps are removed. A token without scopes overlaps
    /// other tokens without scopes.
    private mutating func insert(_ token: CachedAccessToken) {
        accessTokens.removeAll { old in
            old.realm == token.realm && old.tokenType == token.tokenType && old.parameterTag == token.parameterTag
                && old.bindingNames == token.bindingNames
                && (!old.granted.isDisjoint(with: token.granted) || old.granted.isEmpty && token.granted.isEmpty)
        }
        accessTokens.append(token)
    }
}

extension TokenGrant {
    /// Returns the access token as the record will store it.
    package func accessToken(at now: Int64) -> CachedAccessToken? {
        guard let secret = response.accessToken else { return nil }
        let end = now + Int64(response.expiresIn ?? unstatedLifetime)
        return CachedAccessToken(
            secret: secret,
            realm: realm,
            authorityTenant: authorityTenant == realm ? nil : authorityTenant,
            scopes: grantedScopes,
            requestedScopes: requestedScopes,
            tokenType: binding?.scheme.description ?? response.tokenType ?? "Bearer",
            keyID: binding?.keyID,
            parameterTag: parameterTag,
            cachedAt: now,
            expiresOn: min(end, certificateEnd ?? end),
            refreshOn: response.refreshIn.map { now + Int64($0) },
            extendedExpiresOn: certificateEnd == nil ? response.extendedExpiresIn.map { now + Int64($0) } : nil,
            additionalMembers: additionalMembers,
            rule: rule
        )
    }
}

extension AccountCredentials {
    /// With a new refresh token where the stored one is still the one that was sent.
    func replacing(_ sent: CachedRefreshToken, with secret: String, at now: Int64) -> AccountCredentials {
        guard refreshToken?.secret == sent.secret else { return self }
        var result = self
        result.refreshToken?.secret = secret
        result.refreshToken?.modifiedAt = now
        result.refreshToken?.refusals = []
        return result
    }

    static var newerVersion: AuthenticationError {
        AuthenticationError(
            .cacheNewerVersion,
            "A record was written by a newer version of the library, and was left as it is: update this program."
        )
    }
}

/// A token response that was checked, and what it means for the account: ready to be applied.
package struct TokenGrant: Hashable, Sendable {
    package var response: TokenResponse
    package var requestedScopes: [String]
    /// The scopes that a refresh without scopes yields if the server does not name them (RFC 6749 §6).
    package var impliedScopes: [String]?
    package var identity: AccountIdentity
    /// The profile; `nil` if the answer had no ID token, or no ID token that could be verified.
    package var profile: CachedProfile?
    /// The realm of the access token.
    package var realm: String
    package var authorityTenant: String?
    package var rule: ScopeRule
    /// The key that the access token is bound to; `nil` for a bearer token.
    package var binding: TokenBinding?
    /// The end of an SSH certificate, in Unix seconds; `nil` for other tokens, which say nothing to a client.
    package var certificateEnd: Int64?
    /// Tells tokens apart that were requested with other parameters of the program's; 0 for none.
    package var parameterTag: UInt64 = 0
    /// The assumed lifetime of the access token in seconds, if the server does not say.
    package var unstatedLifetime = Self.usualLifetime

    /// The usual lifetime in seconds. RFC 6749 §5.1 only recommends `expires_in`: without it, an hour is assumed, as in
    /// every MSAL.
    package static var usualLifetime: Int { 3600 }

    /// The granted scopes. A server that does not name them granted the requested scopes (RFC 6749 §5.1).
    package var grantedScopes: [String] { response.scopes ?? impliedScopes ?? requestedScopes }

    /// The further members of the answer, as JSON; `nil` without any.
    var additionalMembers: String? {
        guard !response.additionalMembers.isEmpty else { return nil }
        return String(decoding: response.additionalMembers.serialized(), as: UTF8.self)
    }

    /// The requested scopes that were not granted, without the scopes that steer the sign-in.
    package var declinedScopes: [String] {
        let granted = rule.matchable(grantedScopes)
        return requestedScopes.filter { !rule.matchable([$0]).isSubset(of: granted) }
    }
}

/// The identity of the account that the tokens belong to. It is never empty, and never an email address or a display
/// name.
package struct AccountIdentity: Hashable, Sendable {
    package var accountID: Account.ID
    package var homeAccountID: String
    package var homeTenant: String?
}

extension AccountIdentity {
    /// Derives the identity from an answer.
    ///
    /// - Returns: `nil` if the answer identifies no person.
    package init?(authority: Authority, clientInfo: ClientInfo?, issuer: String?, subject: String?) {
        // A dot or bar in `uid` would let two people share `uid.utid`, or look like an issuer and a subject.
        if authority.hasHomeAccounts, let uid = clientInfo?.uid.lowercased(), !uid.isEmpty,
            !uid.utf8.contains(where: { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "|") })
        {
            let utid = clientInfo.map { $0.utid.lowercased() }.flatMap { $0.isEmpty ? nil : $0 } ?? uid
            homeAccountID = "\(uid).\(utid)"
            homeTenant = utid
            accountID = Account.ID(rawValue: "\(authority.objectID(fromUID: uid)).\(utid)")
        } else if let subject, !subject.isEmpty {
            accountID = Account.ID(rawValue: "\(issuer ?? authority.url)|\(subject)")
            homeAccountID = accountID.rawValue
        } else {
            return nil
        }
    }

    /// Creates an identity for a person about whom nothing is known, at a plain OAuth 2.0 server.
    package init(anonymousAt authority: Authority, nonce: String) {
        accountID = Account.ID(rawValue: "\(authority.url)|local-\(nonce)")
        homeAccountID = accountID.rawValue
    }
}
