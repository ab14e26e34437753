// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// Where keys for ID tokens are looked for.
struct JWKSLocation: Hashable, Sendable {
    let url: String
    /// Whether a kept set is passed over, because no key in it has signed the token.
    var isRefetch = false
}

extension AuthorityMetadata {
    /// The places, to be tried one after the other until a key fits; none where no keys are published.
    ///
    /// Most applications of Entra ID need no other set than the one that is published for all. One with claims mapping has a
    /// signing key of its own, and that stands in a set of its own; for an application without, the common keys stand there
    /// too. A kept set of that kind is tried before it is fetched anew: such an application needs it for every token. The
    /// common set is asked last once more, so that no sign-in hangs on a set that most do not need.
    /// - SeeAlso: [Access tokens, validating the signature](https://learn.microsoft.com/entra/identity-platform/access-tokens#validate-the-signature)
    func jwksLocations(for clientID: String, of authority: Authority) -> [JWKSLocation] {
        guard let url = jwksURI else { return [] }
        guard authority.hasApplicationKeys else {
            return [JWKSLocation(url: url), JWKSLocation(url: url, isRefetch: true)]
        }
        let own = url + (url.contains("?") ? "&" : "?") + FormURLEncoded.encode([("appid", clientID)])
        return [
            JWKSLocation(url: url), JWKSLocation(url: own), JWKSLocation(url: own, isRefetch: true),
            JWKSLocation(url: url, isRefetch: true),
        ]
    }
}
