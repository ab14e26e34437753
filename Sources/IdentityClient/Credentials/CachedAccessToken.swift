// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import OAuthWire

/// One access token as it rests in a record.
package struct CachedAccessToken: Hashable, Sendable {
    package var secret: String
    /// The tenant that issued it, or what stands in for one.
    package var realm: String
    /// The tenant as the authority of the request spelled it, where that differs: a domain name, for example.
    package var authorityTenant: String?
    /// The granted scopes, spelled as the server did.
    package var scopes: [String]
    /// The scopes that were asked for: the same request is answered by this token even where fewer were granted.
    package var requestedScopes: [String]
    package var tokenType: String
    /// Unix seconds, as all times here.
    package var cachedAt: Int64
    package var expiresOn: Int64
    package var refreshOn: Int64?
    /// Members another version or library wrote.
    package var unknown = JSONObject()

    /// `scopes` and `requestedScopes` in the form that is compared.
    package var granted: Set<String> = []
    package var requested: Set<String> = []
    /// `scopes` as a program sees them.
    package let scopeSet: Set<Scope>

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
        scopeSet = Set(scopes.map(Scope.init(rawValue:)))
        granted = rule.matchable(scopes)
        requested = rule.matchable(requestedScopes)
    }

    /// Whether the token is good for `leeway` more seconds, or a tenth of its lifetime where that is less.
    ///
    /// A token from the future (the clock was set back) or of more than ten years is taken for expired.
    package func isUsable(at now: Int64, leeway: Int64) -> Bool {
        let lifetime = expiresOn - cachedAt
        return cachedAt <= now + 300 && lifetime > 0 && lifetime < 10 * 365 * 86_400
            && expiresOn - now > Swift.min(leeway, lifetime / 10)
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
