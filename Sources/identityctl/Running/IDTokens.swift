// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient

/// ID tokens of a source, if they are wanted: one may have expired while the access token has not, and is renewed once.
struct IDTokens: TokenSource {
    let base: ApplicationSource

    /// - Throws: `.unsupported` at a plain OAuth 2.0 server, `.loginRequired` where the provider renews none, and as the source.
    func token(_ wanted: WantedToken) async throws -> HandedToken {
        guard wanted.isIDToken else { return try await base.token(wanted) }
        var wanted = wanted
        wanted.provesKey = true  // the key is the access token's
        let end = wanted.timeout.map { ContinuousClock.now + $0 }
        var found = try await base.token(wanted)
        guard base.application.configuration.authority.issuesIDTokens else {
            throw AuthenticationError(
                .unsupported,
                "A plain OAuth 2.0 server issues no ID tokens: it does not say who signed in."
            )
        }
        let token = IDToken(of: found.result)
        let alive = token.flatMap { $0.isAlive(at: .now) ? $0 : nil }
        let expired = wanted.allowsExpiredToken ? token : nil
        if let token, token.isGood(for: wanted.minimumValidity, at: .now) {
            found.idToken = token
            return found
        }
        if wanted.usesCacheOnly {
            guard let token = alive ?? expired else {
                throw AuthenticationError(
                    .networkNotAllowed,
                    "The cache has no ID token that is still good, and this call may not ask the provider."
                )
            }
            found.idToken = token
            return found
        }
        // A result that has just come cannot be newer.
        if found.result.source == .cache {
            wanted.forcesRefresh = true
            wanted.timeout = end.map { max(.seconds(1), $0 - .now) }
            do {
                var renewed = try await base.token(wanted)
                if let token = IDToken(of: renewed.result), token.isAlive(at: .now) {
                    renewed.idToken = token
                    return renewed
                }
            } catch let error as AuthenticationError {
                if let expired, [.network, .serverUnavailable].contains(error.family) {
                    found.idToken = expired
                    return found
                }
                if alive == nil { throw error }
            }
        }
        guard let alive else {
            throw AuthenticationError(
                .loginRequired,
                "There is no ID token that is still good, and the provider renews none without a sign-in."
            )
        }
        found.idToken = alive
        return found
    }
}
