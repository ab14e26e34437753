// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import OAuthWire

/// One access token as it rests in a record. An object that never changes, so that handing it on costs next to nothing.
package final class CachedAccessToken: Sendable {
    package let secret: String
    /// The tenant that issued it, or what stands in for one.
    package let realm: String
    /// The tenant as the authority of the request spelled it, where that differs: a domain name, for example.
    package let authorityTenant: String?
    /// The granted scopes, spelled as the server did.
    package let scopes: [String]
    /// The scopes that were asked for: the same request is answered by this token even where fewer were granted.
    package let requestedScopes: [String]
    package let tokenType: String
    /// Unix seconds, as all times here.
    package let cachedAt: Int64
    package let expiresOn: Int64
    package let refreshOn: Int64?
    /// Members another version or library wrote.
    package let unknown: JSONObject

    /// `scopes` and `requestedScopes` in the form that is compared.
    package let granted: Set<String>
    package let requested: Set<String>
    /// `scopes` as a program sees them.
    package let scopeSet: Set<Scope>
    /// Whether all that was asked for was granted.
    package let declinesNothing: Bool

    package init(
        secret: String,
        realm: String,
        authorityTenant: String? = nil,
        scopes: [String],
        requestedScopes: [String],
        tokenType: String,
        cachedAt: Int64,
        expiresOn: Int64,
        refreshOn: Int64? = nil,
        unknown: JSONObject = JSONObject(),
        rule: ScopeRule
    ) {
        self.secret = secret
        self.realm = realm
        self.authorityTenant = authorityTenant
        self.scopes = scopes
        self.requestedScopes = requestedScopes
        self.tokenType = tokenType.lowercased() == "bearer" ? "Bearer" : tokenType
        self.cachedAt = cachedAt
        self.expiresOn = expiresOn
        self.refreshOn = refreshOn
        self.unknown = unknown
        scopeSet = Set(scopes.map(Scope.init(rawValue:)))
        granted = rule.matchable(scopes)
        requested = rule.matchable(requestedScopes)
        declinesNothing = requested.isSubset(of: granted)
    }

    /// Whether the token is good for `leeway` more seconds, or a tenth of its lifetime where that is less, and for more than
    /// `minimumValidity`.
    ///
    /// A token is used for a tenth of its lifetime whatever is asked for, so that it is not renewed with each call.
    ///
    /// A token from the future (the clock was set back) is taken for expired; so is one of more than ten years, which no
    /// answer yields, because a longer lifetime is read as ten.
    package func isUsable(at now: Int64, leeway: Int64, minimumValidity: Int64 = 0) -> Bool {
        let lifetime = expiresOn - cachedAt
        let validity = Swift.min(minimumValidity, lifetime - Swift.max(1, lifetime / 10))
        return cachedAt <= now + 300 && lifetime > 0 && lifetime <= Int64(JSONObject.maximumDuration)
            && expiresOn - now > Swift.max(validity, Swift.min(leeway, lifetime / 10))
    }

    /// Whether the token is good enough to be given when no better one can be had.
    package func isAlive(at now: Int64) -> Bool {
        isUsable(at: now, leeway: 0)
    }

    /// Whether the server wants it renewed although it is still good.
    package func isDueForRefresh(at now: Int64) -> Bool {
        refreshOn.map { $0 <= now } ?? false
    }
}

extension CachedAccessToken: Hashable {
    package static func == (first: CachedAccessToken, second: CachedAccessToken) -> Bool {
        first === second
            || (first.secret == second.secret && first.realm == second.realm
                && first.authorityTenant == second.authorityTenant && first.scopes == second.scopes
                && first.requestedScopes == second.requestedScopes && first.tokenType == second.tokenType
                && first.cachedAt == second.cachedAt && first.expiresOn == second.expiresOn
                && first.refreshOn == second.refreshOn && first.unknown == second.unknown)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(secret)
    }
}
