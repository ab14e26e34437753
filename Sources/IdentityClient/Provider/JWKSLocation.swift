// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// A location of keys for ID tokens.
struct JWKSLocation: Hashable, Sendable {
    let url: String
    /// Whether to skip the cached set, because none of its keys has signed the token.
    var isRefetch = false
}

extension ProviderMetadata {
    /// The locations, which are tried in order until a key fits; empty if no keys are published.
    ///
    /// Most applications of Entra ID need only the common set. An application with claims mapping has its own signing
    /// key in its own set; for other applications that set has the common keys. A cached set of this kind is tried
    /// before it is fetched again, because such an application needs it for every token. The common set is fetched
    /// again last, so that no sign-in depends on a set that most applications do not need.
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
