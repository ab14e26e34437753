// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import OAuthWire

/// The ID token of a result, and its lifetime.
struct IDToken: Sendable {
    let text: String
    let expiresOn: Date
    private let lifetime: TimeInterval

    /// - Returns: `nil` if the result has no ID token. The token was verified when it came, and is only read here.
    init?(of result: AuthenticationResult) {
        guard let text = result.idToken, let token = try? JSONWebToken(compact: text),
            let claims = try? IDTokenClaims(token.claims)
        else { return nil }
        self.text = text
        expiresOn = Date(timeIntervalSince1970: Double(claims.expiration))
        lifetime = Double(max(0, claims.expiration - (claims.issuedAt ?? claims.expiration)))
    }

    /// Returns whether the token stays valid for `validity`, or has nine tenths of its lifetime left.
    func isGood(for validity: Duration, at now: Date) -> Bool {
        let seconds = Double(validity.components.seconds)
        return expiresOn.timeIntervalSince(now) > min(seconds, lifetime * 0.9)
    }

    /// Returns whether the token has not expired.
    func isAlive(at now: Date) -> Bool { expiresOn > now }
}

extension PublicClientApplication {
    /// A result whose ID token is good: it may have expired while the access token has not, and is renewed once.
    ///
    /// - Throws: `.unsupported` at a plain OAuth 2.0 server, `.loginRequired` where the provider renews none, and as `acquireTokenSilently(_:)`.
    func renewingIDToken(
        of result: AuthenticationResult,
        _ parameters: SilentParameters
    ) async throws -> (AuthenticationResult, IDToken) {
        guard configuration.authority.issuesIDTokens else {
            throw AuthenticationError(
                .unsupported,
                "A plain OAuth 2.0 server issues no ID tokens: it does not say who signed in."
            )
        }
        let token = IDToken(of: result)
        if let token, token.isGood(for: parameters.minimumValidity, at: .now) { return (result, token) }
        let alive = token.flatMap { $0.isAlive(at: .now) ? $0 : nil }
        let expired = parameters.allowsExpiredToken ? token : nil
        if parameters.usesCacheOnly {
            guard let token = alive ?? expired else {
                throw AuthenticationError(
                    .networkNotAllowed,
                    "The cache has no ID token that is still good, and this call may not ask the provider."
                )
            }
            return (result, token)
        }
        // A result that has just come cannot be newer.
        if result.source == .cache {
            var parameters = parameters
            parameters.forcesRefresh = true
            do {
                let renewed = try await acquireTokenSilently(parameters)
                if let token = IDToken(of: renewed), token.isAlive(at: .now) { return (renewed, token) }
            } catch let error as AuthenticationError {
                if let expired, [.network, .serverUnavailable].contains(error.family) { return (result, expired) }
                if alive == nil { throw error }
            }
        }
        guard let alive else {
            throw AuthenticationError(
                .loginRequired,
                "There is no ID token that is still good, and the provider renews none without a sign-in."
            )
        }
        return (result, alive)
    }
}
