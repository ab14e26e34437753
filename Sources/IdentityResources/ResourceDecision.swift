// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityClient
import OAuthWire

/// The next step after a resource's answer that is not a redirect.
enum ResourceDecision: Hashable, Sendable {
    /// Return the answer to the program.
    case deliver
    /// Renew the token, with these claims if there are any, and repeat the request.
    case renew(claims: String?)
    /// Sign the request with the nonce that the resource demands, and repeat it.
    case signAgain
    /// Ask the person: the token was renewed already, and the resource still demands these claims.
    case askPerson(claims: String)
    /// Ask the person: no token that can be had silently meets the demands. Only if another token is stored by now is the
    /// request repeated with it, once for each demand.
    case stepUp(AuthenticationChallenge, ResourceChallenge)
    /// Wait as the server asked, then repeat the request; for idempotent methods only.
    case wait(Duration)

    /// The steps so far.
    struct History: Hashable, Sendable {
        /// Whether the token was sent with the request.
        var sentToken: Bool
        /// Whether the token came from the provider for this very call.
        var isTokenNew = false
        /// The scheme of the token.
        var scheme = AuthenticationScheme.bearer
        /// Whether the request was repeated with a nonce that the resource demanded.
        var hasAnsweredNonce = false
        /// The scopes of the token.
        var granted: Set<Scope> = []
        var hasRenewed = false
        /// The demands for which the request was repeated.
        var repeated: Set<ResourceChallenge> = []
        /// Whether sending the request twice does the same as once.
        var isIdempotent = true
        var waited = Duration.zero
        var waits = 0
    }

    static let maximumWaits = 5

    /// Decides on the next step.
    /// - Parameters:
    ///   - waitLimit: The longest total wait.
    ///   - now: The current time in Unix seconds.
    init(_ response: HTTPResponse, after history: History, waitLimit: Duration, now: Int64) {
        switch response.status.code {
        case 401 where history.sentToken, 403 where history.sentToken:
            let isRefused = response.status.code == 401
            let all = AuthenticationChallenge.parse(response.headerFields[values: .wwwAuthenticate])
            let demandsNonce =
                switch history.scheme {
                case .pop: all.contains { $0.nonce != nil }
                case .dpop:
                    all.contains { $0.error == "use_dpop_nonce" }
                        && AuthenticationScheme.nonce(in: response.headerFields) != nil
                default: false
                }
            if isRefused, demandsNonce, !history.hasAnsweredNonce || history.scheme == .dpop {
                self = history.hasAnsweredNonce ? .deliver : .signAgain
                return
            }
            // A demand of a signed request is not met by another bearer token.
            let challenges = all.filter { $0.scheme != "pop" || history.scheme == .pop }
            if isRefused, let claims = challenges.lazy.compactMap(\.claims).first {
                self = history.hasRenewed ? .askPerson(claims: claims) : .renew(claims: claims)
                return
            }
            for challenge in challenges {
                guard let demands = ResourceChallenge(challenge) else { continue }
                // A sign-in for scopes that the token has would change nothing.
                let isMet = challenge.error == "insufficient_scope" && demands.scopes.isSubset(of: history.granted)
                self = isMet ? .deliver : .stepUp(challenge, demands)
                return
            }
            // A challenge for tokens may say that another one would change nothing. One of another scheme says nothing: many
            // APIs answer so to a bearer token that has ended (Yahoo and Atlassian `OAuth`, Django `Token`).
            let ofTokens = challenges.filter(\.isOfAToken)
            let canHelp =
                ofTokens.isEmpty
                ? all.isEmpty || !challenges.isEmpty : ofTokens.contains { !Self.isLasting($0.error) }
            let renews = isRefused && canHelp && !history.hasRenewed && !history.isTokenNew
            self = renews ? .renew(claims: nil) : .deliver
        case 429, 503:
            guard history.isIdempotent, history.waits < Self.maximumWaits,
                let wait = response.retryAfter(now: now), history.waited + wait <= waitLimit
            else {
                self = .deliver
                return
            }
            self = .wait(wait)
        default:
            self = .deliver
        }
    }

    /// Whether a renewed token would be refused as well.
    private static func isLasting(_ error: String?) -> Bool {
        ["insufficient_scope", "insufficient_user_authentication", "invalid_dpop_proof"].contains(error)
    }
}
