// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityResources
import OAuthWire

/// A server's demand of a sign-in.
struct SignInDemand: Hashable, Sendable {
    /// The scopes that the server named.
    var scopes: Set<Scope> = []
    /// The digest of the token that lacked them, or that the server does not take; `nil` if there was no token.
    var refused: String?
    /// Whether the server named scopes, and not only refused the token.
    var isForMore = false

    /// - Parameters:
    ///   - error: The reason for the sign-in.
    ///   - demanded: The scopes that were demanded before.
    ///   - token: The token that was sent.
    init(_ error: AuthenticationError, besides demanded: Set<Scope>, of token: String?) {
        let named = error.challenge?.scopes ?? []
        scopes = named.union(demanded)
        isForMore = !named.isEmpty
        // Such a token is still good by its time.
        let isRefused = isForMore || error.isOfRefusedToken || error.isOfForgottenClient
        if isRefused { refused = token.map { Digest.hexadecimal(of: [$0]) } }
    }

    init(scopes: Set<Scope> = [], refused: String? = nil, isForMore: Bool = false) {
        (self.scopes, self.refused, self.isForMore) = (scopes, refused, isForMore)
    }

    /// Whether a token that was had without a person is an answer: it has the scopes, and is another one than was refused. A
    /// server may ignore a wish for more scopes, and need not tell which it granted (RFC 6749 §3.3 and §6).
    func isMet(by result: AuthenticationResult) -> Bool {
        guard let refused else { return true }
        return Digest.hexadecimal(of: [result.accessToken]) != refused && result.declinedScopes.isDisjoint(with: scopes)
    }
}
