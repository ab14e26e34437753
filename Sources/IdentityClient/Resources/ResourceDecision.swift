// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import OAuthWire

/// What is done about a resource's answer that is no redirect.
enum ResourceDecision: Hashable, Sendable {
    /// It is the program's.
    case deliver
    /// The token is renewed, with these claims where there are any, and the request repeated.
    case renew(claims: String?)
    /// Renewed already, and the resource still demands these claims.
    case askPerson(claims: String)
    /// The server asked to wait before the request is repeated; for idempotent methods alone.
    case wait(Duration)

    /// What was done so far.
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

    /// Decides.
    /// - Parameters:
    ///   - waitLimit: The most that is waited in all.
    ///   - now: Unix seconds.
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
                let seconds = response.headerFields[.retryAfter].flatMap({ RetryAfter.seconds($0, now: now) }),
                history.waited + .seconds(seconds) <= waitLimit
            else {
                self = .deliver
                return
            }
            self = .wait(.seconds(seconds))
        default:
            self = .deliver
        }
    }
}
