// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The scopes that a refresh names.
///
/// A Microsoft refresh token is good for any resource, so a refresh there always names the requested scopes. Elsewhere,
/// a refresh without scopes yields the granted ones (RFC 6749 §6). There, the scopes are named only if one of them was
/// neither granted nor declined, or if none of them was granted. A declined scope is not named again, because the
/// server would refuse it each time.
struct RefreshScopes: Sendable {
    private let request: SilentRequest
    private let isNamed: Bool
    private let granted: [String]

    init(_ request: SilentRequest, stored token: CachedRefreshToken) {
        self.request = request
        let (rule, wanted) = (ScopeRule(ignoresCase: false), request.need.matchableScopes)
        let known = rule.matchable(token.scopes)
        granted = token.scopes
        let isAnswered = wanted.isSubset(of: known.union(rule.matchable(token.declinedScopes)))
        let isUseful = wanted.isEmpty || !wanted.isDisjoint(with: known)
        isNamed = request.authority.isMicrosoft || !isAnswered || !isUseful
    }

    /// The scopes that the answer is stored under. The next call for the same scopes finds it, whatever was granted.
    var requested: [String] { request.scopes }

    /// The granted scopes if the answer does not state them: the earlier grant. `nil` stands for the requested scopes.
    var implied: [String]? { isNamed || granted.isEmpty ? nil : granted }

    func sent(defaults: [String]) -> [String] {
        isNamed ? request.scopes.appendingMissing(defaults) : []
    }

    /// Turns the refusal of a scope beyond the grant into a request for the person's consent.
    func explaining(_ error: AuthenticationError) -> AuthenticationError {
        guard error.code == .invalidScope, error.serverError?.error == "invalid_scope",
            !request.authority.isMicrosoft, isNamed
        else { return error }
        return AuthenticationError(
            .consentRequired,
            "These scopes go beyond what was granted: sign in interactively.",
            serverError: error.serverError,
            correlationID: error.correlationID,
            timestamp: error.timestamp
        )
    }
}
