// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Logging
package import OAuthWire

/// The expected claims of an ID token. The signature is checked separately.
///
/// - SeeAlso: [OpenID Connect Core §3.1.3.7](https://openid.net/specs/openid-connect-core-1_0.html#IDTokenValidation) and
///   [§12.2](https://openid.net/specs/openid-connect-core-1_0.html#RefreshTokenResponse) for refreshes
package struct IDTokenExpectation: Sendable {
    package var authority: Authority
    package var publishedIssuer: String?
    package var clientID: String
    /// The nonce that was sent; `nil` for a refresh (``GrantValidation`` compares it with the earlier nonce).
    package var nonce: String?
    package var accessToken: String?
    /// The maximum seconds since the authentication, if requested.
    package var maxAge: Int?
    /// The accepted values of `acr`, if it is essential.
    package var essentialACR: [String]?
    /// The earlier token's subject, for a refresh.
    package var subject: String?
    /// The tolerance between the two clocks in seconds.
    package var skew: Int64 = 300
    /// Whether expiry and beginning are checked. Not for a refresh: its answer is certainly fresh, and a refusal
    /// because of a wrong clock would lose the rotated refresh token and the sign-in.
    package var checksTimes = true

    package init(authority: Authority, publishedIssuer: String?, clientID: String) {
        self.authority = authority
        self.publishedIssuer = publishedIssuer
        self.clientID = clientID
    }

    /// Checks the claims.
    ///
    /// - Throws: `AuthenticationError.Code.invalidIDToken` with the wrong claim.
    package func check(_ claims: IDTokenClaims, algorithm: SignatureAlgorithm, at now: Int64) throws {
        guard authority.accepts(tokenIssuer: claims.issuer, tenantID: claims.tid, published: publishedIssuer) else {
            throw Self.refused("it was issued by another issuer (iss)")
        }
        try checkAudience(claims)
        guard claims.issuedAt != nil else { throw Self.refused("it does not say when it was issued (iat)") }
        if checksTimes { try checkTimes(claims, at: now) }
        if let nonce {
            guard let answered = claims.nonce, constantTimeEquals(answered, nonce) else {
                throw Self.refused("it answers another request (nonce)")
            }
        }
        if let expected = self.subject, !WireText.areSame(expected, claims.subject) {
            throw Self.refused("it is about another person than before (sub)")
        }
        if let essentialACR, !claims.hasACR(in: essentialACR) {
            throw Self.refused("the person did not authenticate in the way that was demanded (acr)")
        }
        if let accessToken, !claims.atHashMatches(accessToken: accessToken, algorithm: algorithm) {
            throw Self.refused("it belongs to another access token (at_hash)")
        }
    }

    /// Deviation: Zitadel also names its project and the project's other clients, Dex the clients of a shared token,
    /// and Keycloak the audiences of its mappers. OpenID Connect Core §3.1.3.7 requires refusing untrusted audiences;
    /// they are accepted if the token was issued to this client (`azp`).
    private func checkAudience(_ claims: IDTokenClaims) throws {
        let isOurs = { (text: String) in WireText.areSame(text, clientID) }
        guard claims.audience.contains(where: isOurs), claims.azp.map(isOurs) ?? true else {
            throw Self.refused("it is meant for another client (aud, azp)")
        }
        guard claims.audience.allSatisfy(isOurs) || claims.azp != nil else {
            throw Self.refused(
                "it is meant for several audiences, and does not say that it was issued to this client (aud, azp)"
            )
        }
    }

    private func checkTimes(_ claims: IDTokenClaims, at now: Int64) throws {
        guard claims.expiration > now - skew else {
            let age = now - claims.expiration
            throw Self.refused("it expired \(age) s ago (exp); if it is new, this computer's clock is ahead")
        }
        for time in [claims.issuedAt, claims.notBefore].compactMap(\.self) where time > now + skew {
            throw Self.refused(
                "it begins in \(time - now) s (iat, nbf): this computer's clock may be behind the server's"
            )
        }
        if let maxAge {
            guard let authenticated = claims.authTime, authenticated >= now - Int64(maxAge) - skew else {
                throw Self.refused("the person authenticated longer ago than was asked for (auth_time)")
            }
        }
    }

    static func refused(_ reason: String) -> AuthenticationError {
        AuthenticationError(.invalidIDToken, "The ID token is not believed: \(reason).")
    }
}
