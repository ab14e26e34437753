// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The scopes of a refresh: those that the request names, and those that its answer is stored under.
///
/// A refresh that names no scopes yields the granted ones (RFC 6749 §6). So it names the requested scopes only if the
/// grant does not answer them: if one of them was neither granted nor declined, or if none of them was granted. It does
/// not name a declined scope again, because the server would refuse it each time. A refresh at Microsoft always names
/// the requested scopes, because a refresh token there is good for any API.
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

    /// The scopes that the answer is stored under, so that the next call for the same scopes finds it.
    var requested: [String] { request.scopes }

    /// The granted scopes if the answer does not state them; `nil` if they are the requested ones.
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
