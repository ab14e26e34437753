// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The requirements of a silent request.
package struct CredentialRequest: Hashable, Sendable {
    package var scopes: Set<Scope>
    /// The tenant whose tokens match; `nil` if any tenant's tokens do.
    package var tenant: String?
    /// Whether cached access tokens are ignored, because of a forced refresh or a claims challenge.
    package var skipsAccessToken = false
    /// The access token that an API refused, which does not answer the request.
    package var refusedToken: String?
    /// The expiration leeway in seconds.
    package var leeway: Int64
    /// The minimum remaining validity in seconds, if the token can be renewed.
    package var minimumValidity: Int64
    package var rule: ScopeRule
    /// The key that the token is bound to; `nil` for a bearer token.
    package var binding: TokenBinding?
    /// Names the program's parameters that the token was requested with; 0 for none.
    package var parameterTag: UInt64

    package init(
        scopes: Set<Scope>,
        tenant: String? = nil,
        skipsAccessToken: Bool = false,
        leeway: Int64 = 300,
        minimumValidity: Int64 = 0,
        rule: ScopeRule = ScopeRule(ignoresCase: false),
        binding: TokenBinding? = nil,
        parameterTag: UInt64 = 0
    ) {
        self.scopes = scopes
        self.rule = rule
        self.binding = binding
        self.parameterTag = parameterTag
        self.tenant = tenant
        self.skipsAccessToken = skipsAccessToken
        self.leeway = leeway
        self.minimumValidity = minimumValidity
    }
}

extension CredentialRequest {
    /// The scopes in the form in which they are compared, without the reserved scopes.
    package var matchableScopes: Set<String> { rule.matchable(scopes.lazy.map(\.rawValue)) }

    /// Whether there is a scope other than those that steer the sign-in.
    var namesAScopeOfAnAPI: Bool {
        scopes.contains { !rule.isReserved($0.rawValue) }
    }
}

/// The part of the credentials that answers a request.
package enum CredentialSelection: Hashable, Sendable {
    /// A valid access token.
    case valid(CachedAccessToken)
    /// A valid access token that the server wants renewed.
    case stale(CachedAccessToken)
    /// No access token that matches, but a refresh token.
    case refreshable(CachedRefreshToken)
    /// Neither token: a person is needed.
    case unavailable
}

extension AccountCredentials {
    /// Returns the part of these credentials that answers `request` at a time.
    package func selection(for request: CredentialRequest, at now: Int64) -> CredentialSelection {
        let validity = hasRefreshToken ? request.minimumValidity : 0
        if !request.skipsAccessToken,
            let token = bestToken(for: request, at: now, leeway: request.leeway, minimumValidity: validity)
        {
            return token.isDueForRefresh(at: now) && hasRefreshToken ? .stale(token) : .valid(token)
        }
        return refreshToken.map(CredentialSelection.refreshable) ?? .unavailable
    }

    /// Whether there is a refresh token. The check looks at the case only: on every cache hit, `refreshToken != nil`
    /// would copy the whole token.
    private var hasRefreshToken: Bool {
        if case .some = refreshToken { true } else { false }
    }

    /// A token that is still alive, for when no better one can be had.
    package func unexpiredToken(for request: CredentialRequest, at now: Int64) -> CachedAccessToken? {
        bestToken(for: request, at: now, leeway: 0)
    }

    /// A token in its extended lifetime, for when the provider cannot give a new one.
    package func extendedToken(for request: CredentialRequest, at now: Int64) -> CachedAccessToken? {
        accessTokens.filter { $0.isInExtendedLifetime(at: now) && answers($0, request) }
            .max { $0.expiresOn < $1.expiresOn }
    }

    /// The matching token that expired last, for when no better one can be had and the caller accepts it.
    package func expiredToken(for request: CredentialRequest, at now: Int64) -> CachedAccessToken? {
        accessTokens.filter { $0.hasExpired(at: now) && answers($0, request) }.max { $0.expiresOn < $1.expiresOn }
    }

    private func answers(_ token: CachedAccessToken, _ request: CredentialRequest) -> Bool {
        if let refused = request.refusedToken, token.secret == refused { return false }
        return token.fits(request) || token.fits(request, declined: refreshToken?.declinedScopes ?? [])
    }

    /// Returns the matching token that expires last.
    private func bestToken(
        for request: CredentialRequest,
        at now: Int64,
        leeway: Int64,
        minimumValidity: Int64 = 0
    ) -> CachedAccessToken? {
        var best: Int?
        for index in accessTokens.indices {
            guard accessTokens[index].isUsable(at: now, leeway: leeway, minimumValidity: minimumValidity),
                answers(accessTokens[index], request)
            else { continue }
            if let other = best, accessTokens[other].expiresOn >= accessTokens[index].expiresOn { continue }
            best = index
        }
        return best.map { accessTokens[$0] }
    }
}

extension CachedAccessToken {
    /// Returns whether the token's tenant and scopes match the request.
    func fits(_ request: CredentialRequest) -> Bool {
        guard isOfKind(request) else { return false }
        // An API's token, even the last acquired, does not answer a request that names no API.
        guard request.namesAScopeOfAnAPI else { return requested.isEmpty }
        return request.scopes.allSatisfy { covers($0, by: request.rule) } || request.matchableScopes == requested
    }

    /// Returns whether the token has all scopes that a refresh would yield.
    /// - Parameter declined: The scopes that the person did not grant at sign-in.
    fileprivate func fits(_ request: CredentialRequest, declined: [String]) -> Bool {
        // Microsoft's providers treat the scopes of a refresh as a new request.
        guard !declined.isEmpty, !request.rule.ignoresCase, isOfKind(request), request.namesAScopeOfAnAPI else {
            return false
        }
        let wanted = request.matchableScopes
        return wanted.isSubset(of: granted.union(declined)) && !wanted.isDisjoint(with: granted)
    }

    private func isOfKind(_ request: CredentialRequest) -> Bool {
        guard parameterTag == request.parameterTag, isBound(as: request.binding) else { return false }
        guard let tenant = request.tenant else { return true }
        return tenant == realm || tenant == authorityTenant
    }

    /// Returns whether the token has the scheme and the key of the request.
    private func isBound(as binding: TokenBinding?) -> Bool {
        guard let binding else { return tokenType == "Bearer" }
        return tokenType == binding.scheme.description && keyID == binding.keyID
    }

    /// Returns whether a scope was granted or matters to the sign-in only.
    func covers(_ scope: Scope, by rule: ScopeRule) -> Bool {
        // A few short words are compared faster than hashed.
        if scopes.count <= 16 ? scopes.contains(scope.rawValue) : scopeSet.contains(scope) { return true }
        let form = rule.canonical(scope.rawValue)
        return granted.contains(form) || ScopeRule.reserved.contains(form)
    }
}

/// Decides when a token is renewed before its end, so that many programs do not ask at the same instant.
///
/// A value: the time, and the draw that spreads the renewals, are arguments.
package struct RenewalSchedule: Hashable, Sendable {
    /// The rest of a token's life in which another token is due.
    package let margin: Duration

    package static let usualValidity = Duration.seconds(300)
    /// The longest time between two looks at the account and the token.
    package static let beat = Duration.seconds(60)

    /// - Parameters:
    ///   - left: The rest of the token's life when it was acquired.
    ///   - validity: How long each token stays valid at least, as far as its lifetime allows; `nil` for five minutes, or the
    ///     second half of a shorter life.
    ///   - draw: From 0 to 1: how much earlier than necessary the token is renewed, as a part of at most five minutes or a tenth
    ///     of its life.
    package init(left: Duration, validity: Duration?, draw: Double) {
        let left = max(.zero, left)  // an expired token is handed out in an outage
        let needed = validity.map { min($0, left * 9 / 10) } ?? min(Self.usualValidity, left / 2)
        margin = min(needed + min(Self.usualValidity, left / 10) * draw, left * 9 / 10)
    }

    package func isDue(left: Duration) -> Bool { left <= margin }

    /// The time until the next look.
    ///
    /// - Parameter failures: The number of renewals that have failed since the last success.
    package func wait(left: Duration, failures: Int) -> Duration {
        guard failures == 0 else { return Self.pause(after: failures) }
        return max(.seconds(1), min(Self.beat, left - margin))
    }

    /// The time until the next attempt: 5 s after one failure, then twice as long each time, at most a minute.
    package static func pause(after failures: Int) -> Duration {
        min(beat, .seconds(5 << min(max(failures, 1) - 1, 4)))
    }

    /// The draw for a token: a number from 0 to 1 that is the same in all processes, and another one for the next token.
    package static func draw(for token: String) -> Double {
        let digits = Digest.hexadecimal(of: ["renewal", token]).prefix(8)
        return Double(UInt32(digits, radix: 16) ?? 0) / (Double(UInt32.max) + 1)
    }

    /// Returns when a token is renewed that the server wants renewed from `refreshOn` on: up to five minutes later, at most a
    /// tenth of the time that is left then.
    package static func renewal(of token: String, from refreshOn: Int64, expiresOn: Int64) -> Int64 {
        let latest = max(0, min(300, (expiresOn - refreshOn) / 10))
        return refreshOn + Int64(Double(latest) * draw(for: token))
    }
}
