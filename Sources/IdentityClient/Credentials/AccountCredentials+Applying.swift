// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

// What a token response, and time, make of the credentials.
extension AccountCredentials {
    /// The bytes above which access tokens, then ID tokens, are given up; the refresh token and the account never are.
    static let softLimit = 256 * 1024

    /// The credentials with a grant merged in.
    ///
    /// A response without refresh token keeps the old one, and one without ID token the earlier claims.
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
            result.refreshToken = token
        }
        if let profile = grant.profile { result.merge(profile) }
        if let token = grant.accessToken(at: now) { result.insert(token) }
        return result.tidied(at: now)
    }

    /// Without access tokens that died, and below the limit.
    package func tidied(at now: Int64) -> AccountCredentials {
        var result = self
        result.accessTokens.removeAll { !$0.isAlive(at: now) }
        var size = result.approximateSize
        result.accessTokens.sort { $0.expiresOn > $1.expiresOn }
        while size > Self.softLimit, result.accessTokens.count > 1, let last = result.accessTokens.popLast() {
            size -= last.secret.utf8.count
        }
        if size > Self.softLimit {
            for index in result.profiles.indices { result.profiles[index].idToken = nil }
        }
        return result
    }

    private var approximateSize: Int {
        accessTokens.reduce(0) { $0 + $1.secret.utf8.count + 512 }
            + profiles.reduce(0) { $0 + ($1.idToken?.utf8.count ?? 0) + 512 }
    }

    /// The newest profile comes first; what it does not tell is kept from the older one.
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

    /// One token per tenant and scopes: those that the new one overlaps go. One without scopes overlaps another without.
    private mutating func insert(_ token: CachedAccessToken) {
        accessTokens.removeAll { old in
            old.realm == token.realm && old.tokenType == token.tokenType
                && (!old.granted.isDisjoint(with: token.granted) || old.granted.isEmpty && token.granted.isEmpty)
        }
        accessTokens.append(token)
    }
}

extension TokenGrant {
    /// The access token as it will rest in the record.
    package func accessToken(at now: Int64) -> CachedAccessToken? {
        guard let secret = response.accessToken else { return nil }
        return CachedAccessToken(
            secret: secret,
            realm: realm,
            authorityTenant: authorityTenant == realm ? nil : authorityTenant,
            scopes: grantedScopes,
            requestedScopes: requestedScopes,
            tokenType: response.tokenType ?? "Bearer",
            cachedAt: now,
            expiresOn: now + Int64(response.expiresIn ?? unstatedLifetime),
            refreshOn: response.refreshIn.map { now + Int64($0) },
            rule: rule
        )
    }
}
