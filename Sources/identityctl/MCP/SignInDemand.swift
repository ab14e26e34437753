// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import OAuthWire

/// A server's demand of the sign-in for one call.
struct SignInDemand: Hashable, Sendable {
    /// As often as the person, or the server of the tokens, is asked for one call.
    private static let maximum = 3

    /// The scopes that the server named.
    var scopes: Set<Scope> = []
    /// The digest of the token that lacked them; `nil` if none was refused for its scopes.
    var refused: String?
    private var count = 0

    init(scopes: Set<Scope> = [], refused: String? = nil) {
        (self.scopes, self.refused) = (scopes, refused)
    }

    /// Notes an error.
    ///
    /// - Parameter token: The token that was sent.
    /// - Returns: Whether a sign-in may follow.
    mutating func note(_ error: AuthenticationError, of token: String?) -> Bool {
        count += 1
        if let challenge = error.challenge, !challenge.scopes.isEmpty {
            scopes.formUnion(challenge.scopes)
            refused = token.map { Digest.hexadecimal(of: [$0]) }
        }
        return count <= Self.maximum
    }

    /// Whether a token that was had without a person is an answer: it has the scopes, and is another one than was refused. A
    /// server may ignore a wish for more scopes, and need not tell which it granted (RFC 6749 §3.3 and §6).
    func isMet(by result: AuthenticationResult) -> Bool {
        guard let refused else { return true }
        return Digest.hexadecimal(of: [result.accessToken]) != refused && result.declinedScopes.isDisjoint(with: scopes)
    }
}
