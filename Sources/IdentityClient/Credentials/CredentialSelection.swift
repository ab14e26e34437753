// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// What a silent request needs of the credentials.
package struct CredentialRequest: Hashable, Sendable {
    package var scopes: Set<Scope>
    /// The tenant whose tokens fit; `nil` where any does.
    package var tenant: String?
    /// Whether cached access tokens are passed over: a forced refresh, a claims challenge.
    package var skipsAccessToken = false
    /// Seconds.
    package var leeway: Int64
    /// Seconds for which the token shall be good at least, where there is something to renew it with.
    package var minimumValidity: Int64
    package var rule: ScopeRule

    package init(
        scopes: Set<Scope>,
        tenant: String? = nil,
        skipsAccessToken: Bool = false,
        leeway: Int64 = 300,
        minimumValidity: Int64 = 0,
        rule: ScopeRule = ScopeRule(ignoresCase: false)
    ) {
        self.scopes = scopes
        self.rule = rule
        self.tenant = tenant
        self.skipsAccessToken = skipsAccessToken
        self.leeway = leeway
        self.minimumValidity = minimumValidity
    }
}

extension CredentialRequest {
    /// The scopes in the form that is compared, without the reserved ones.
    package var matchableScopes: Set<String> { rule.matchable(scopes.lazy.map(\.rawValue)) }

    /// Whether there is a scope beside those that steer the sign-in.
    var namesAScopeOfAnAPI: Bool {
        scopes.contains { !rule.isReserved($0.rawValue) }
    }
}

/// What the credentials can do for a request.
package enum CredentialSelection: Hashable, Sendable {
    /// A good access token.
    case valid(CachedAccessToken)
    /// A good access token that the server wants renewed.
    case stale(CachedAccessToken)
    /// No access token that fits, but a refresh token.
    case refreshable(CachedRefreshToken)
    /// Neither: a person is needed.
    case unavailable
}

extension AccountCredentials {
    /// What these credentials can do for `request` at a time.
    package func selection(for request: CredentialRequest, at now: Int64) -> CredentialSelection {
        let validity = hasRefreshToken ? request.minimumValidity : 0
        if !request.skipsAccessToken,
            let token = bestToken(for: request, at: now, leeway: request.leeway, minimumValidity: validity)
        {
            return token.isDueForRefresh(at: now) && hasRefreshToken ? .stale(token) : .valid(token)
        }
        return refreshToken.map(CredentialSelection.refreshable) ?? .unavailable
    }

    /// Looks at the case only: `refreshToken != nil` copies the whole token, on the way of each hit.
    private var hasRefreshToken: Bool {
        if case .some = refreshToken { true } else { false }
    }

    /// A token that is still alive, for when no better one can be had.
    package func survivor(for request: CredentialRequest, at now: Int64) -> CachedAccessToken? {
        bestToken(for: request, at: now, leeway: 0)
    }

    /// The fitting token that lives longest.
    private func bestToken(
        for request: CredentialRequest,
        at now: Int64,
        leeway: Int64,
        minimumValidity: Int64 = 0
    ) -> CachedAccessToken? {
        var best: Int?
        for index in accessTokens.indices {
            guard accessTokens[index].isUsable(at: now, leeway: leeway, minimumValidity: minimumValidity),
                accessTokens[index].fits(request)
                    || accessTokens[index].fits(request, declined: refreshToken?.declinedScopes ?? [])
            else { continue }
            if let other = best, accessTokens[other].expiresOn >= accessTokens[index].expiresOn { continue }
            best = index
        }
        return best.map { accessTokens[$0] }
    }
}

extension CachedAccessToken {
    /// Whether the token's tenant and scopes are what is asked for.
    func fits(_ request: CredentialRequest) -> Bool {
        guard isOfKind(request) else { return false }
        // A token of an API, whichever was acquired last, is no answer to a request that names none.
        guard request.namesAScopeOfAnAPI else { return requested.isEmpty }
        return request.scopes.allSatisfy { covers($0, by: request.rule) } || request.matchableScopes == requested
    }

    /// Whether the token has all that a refresh would yield.
    /// - Parameter declined: The scopes that the person did not grant at sign-in.
    fileprivate func fits(_ request: CredentialRequest, declined: [String]) -> Bool {
        // Microsoft's providers take scopes at a refresh for a new wish.
        guard !declined.isEmpty, !request.rule.ignoresCase, isOfKind(request), request.namesAScopeOfAnAPI else {
            return false
        }
        let wanted = request.matchableScopes
        return wanted.isSubset(of: granted.union(declined)) && !wanted.isDisjoint(with: granted)
    }

    private func isOfKind(_ request: CredentialRequest) -> Bool {
        guard tokenType == "Bearer" else { return false }
        guard let tenant = request.tenant else { return true }
        return tenant == realm || tenant == authorityTenant
    }

    /// Whether a scope was granted, or is one that matters to the sign-in only.
    func covers(_ scope: Scope, by rule: ScopeRule) -> Bool {
        // A few short words are compared sooner than hashed.
        if scopes.count <= 16 ? scopes.contains(scope.rawValue) : scopeSet.contains(scope) { return true }
        let form = rule.canonical(scope.rawValue)
        return granted.contains(form) || ScopeRule.reserved.contains(form)
    }
}
