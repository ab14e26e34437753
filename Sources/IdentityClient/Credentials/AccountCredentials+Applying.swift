// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

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
            result.refreshToken = token
        }
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
