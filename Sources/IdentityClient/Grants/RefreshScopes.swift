// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Which scopes a refresh names.
///
/// Microsoft's refresh tokens are good for any resource, so the wanted scopes are always named. Elsewhere a refresh
/// without scopes yields what was granted (RFC 6749 §6), and only a wish beyond that is named. What the person declined
/// is no such wish: to name it would be refused each time. But who wants nothing else has no use for what was granted.
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

    /// What the answer is filed under, so that the next call for the same is answered by it, whatever was granted.
    var requested: [String] { request.scopes }

    /// What is granted where the answer does not say: what was asked for, or what was granted before.
    var implied: [String]? { isNamed || granted.isEmpty ? nil : granted }

    func sent(defaults: [String]) -> [String] {
        isNamed ? request.scopes.appendingMissing(defaults) : []
    }

    /// A scope beyond what was granted is for the person to agree to. Nobody can agree to an API that is not known.
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
