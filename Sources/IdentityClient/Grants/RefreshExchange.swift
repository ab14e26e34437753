// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// The use of one refresh token: the request, the record that the token was read from, and the results so far.
struct RefreshExchange: Sendable {
    let request: SilentRequest
    /// The record when the refresh token was read.
    let snapshot: CredentialSnapshot
    let sent: CachedRefreshToken
    var metadata: ProviderMetadata?
    /// The reason why fetching the keys failed. If it is set, the keys are not requested again after the answer.
    var keysFailure: AuthenticationError?
    var response: TokenResponse?
    /// The refresh token of the answer; `nil` if the answer has none, or names another person.
    var rotatedSecret: String?
    var grant: TokenGrant?

    init(_ request: SilentRequest, _ snapshot: CredentialSnapshot, sent: CachedRefreshToken) {
        self.request = request
        self.snapshot = snapshot
        self.sent = sent
    }
}

// The scopes: those that the request names, and those that its answer is stored under.
extension RefreshExchange {
    /// Whether the request names scopes.
    ///
    /// A refresh that names no scopes yields the granted ones. So it names the requested scopes only if the grant does
    /// not answer them: if one of them was neither granted nor declined, or if none of them was granted. It does not
    /// name a declined scope again, because the server would refuse it each time. A refresh at Microsoft always names
    /// the requested scopes, because a refresh token there is good for any API.
    /// - SeeAlso: [RFC 6749 §6](https://www.rfc-editor.org/rfc/rfc6749#section-6)
    private var namesScopes: Bool {
        let (rule, wanted) = (ScopeRule(ignoresCase: false), request.need.matchableScopes)
        let known = rule.matchable(sent.scopes)
        let isAnswered = wanted.isSubset(of: known.union(rule.matchable(sent.declinedScopes)))
        let isUseful = wanted.isEmpty || !wanted.isDisjoint(with: known)
        return request.authority.isMicrosoft || !isAnswered || !isUseful
    }

    /// The granted scopes if the answer does not state them; `nil` if they are the requested ones.
    var impliedScopes: [String]? { namesScopes || sent.scopes.isEmpty ? nil : sent.scopes }

    /// Returns the scopes that the request names; empty if it names none.
    ///
    /// - Parameter defaults: The scopes that are added to any request for this authority.
    func sentScopes(defaults: [String]) -> [String] {
        namesScopes ? request.scopes.appendingMissing(defaults) : []
    }

    /// Turns the refusal of a scope beyond the grant into a request for the person's consent, and that of a family's
    /// refresh token, which another program obtained, into one for a sign-in.
    func explaining(_ error: AuthenticationError) -> AuthenticationError {
        if sent.familyID != nil, error.serverError?.suberror == "client_mismatch" {
            return AuthenticationError(
                .noTokensFound,
                "The refresh token of Microsoft's other programs does not serve this client: sign in interactively.",
                serverError: error.serverError,
                correlationID: error.correlationID,
                timestamp: error.timestamp
            )
        }
        guard error.code == .invalidScope, error.serverError?.error == "invalid_scope",
            !request.authority.isMicrosoft, namesScopes
        else { return error }
        return AuthenticationError(
            .consentRequired,
            "These scopes go beyond what was granted: sign in interactively.",
            serverError: error.serverError,
            retryAfter: error.retryAfter,
            correlationID: error.correlationID,
            timestamp: error.timestamp
        )
    }
}
