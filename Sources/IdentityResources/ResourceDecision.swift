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
    /// Ask the person: the token was renewed already, and the resource still demands these claims.
    case askPerson(claims: String)
    /// Wait as the server asked, then repeat the request; for idempotent methods only.
    case wait(Duration)

    /// The steps so far.
    struct History: Hashable, Sendable {
        /// Whether the token was sent with the request.
        var sentToken: Bool
        /// Whether the token came from the provider for this very call.
        var isTokenNew = false
        var hasRenewed = false
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
        case 401 where history.sentToken:
            let challenges = AuthenticationChallenge.parse(response.headerFields[values: .wwwAuthenticate])
            if let claims = challenges.lazy.compactMap(\.claims).first {
                self = history.hasRenewed ? .askPerson(claims: claims) : .renew(claims: claims)
                return
            }
            // Another scheme alone, or too few scopes: another token of this kind would change nothing.
            let bearer = challenges.filter { $0.scheme == "bearer" }
            let canHelp = challenges.isEmpty || bearer.contains { $0.error != "insufficient_scope" }
            self = canHelp && !history.hasRenewed && !history.isTokenNew ? .renew(claims: nil) : .deliver
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
}
