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

    /// A token whose end another program has read.
    init(_ text: String, expiresOn: Date) {
        (self.text, self.expiresOn, lifetime) = (text, expiresOn, 0)
    }

    /// Returns whether the token stays valid for `validity`, or has nine tenths of its lifetime left.
    func isGood(for validity: Duration, at now: Date) -> Bool {
        let seconds = Double(validity.components.seconds)
        return expiresOn.timeIntervalSince(now) > min(seconds, lifetime * 0.9)
    }

    /// Returns whether the token has not expired.
    func isAlive(at now: Date) -> Bool { expiresOn > now }
}
