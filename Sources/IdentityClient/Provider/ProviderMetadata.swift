// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import OAuthWire

/// An authority's trusted endpoints: published and checked, or derived from its form.
package struct ProviderMetadata: Hashable, Sendable {
    /// The issuer that authorization responses and ID tokens name; `nil` if unknown.
    package var issuer: String?
    package var authorizationEndpoint: String
    package var tokenEndpoint: String
    package var deviceAuthorizationEndpoint: String?
    package var endSessionEndpoint: String?
    package var revocationEndpoint: String?
    package var pushedAuthorizationRequestEndpoint: String?
    /// As published: it is checked before a token is sent to it, and no sign-in depends on it.
    package var userInfoEndpoint: String?
    /// The same is true of this one.
    package var introspectionEndpoint: String?
    package var jwksURI: String?
    package var responseModes: [String]?
    package var codeChallengeMethods: [String]?
    /// Whether every authorization response names its issuer (RFC 9207).
    package var namesIssuerInResponse = false
    /// Whether authorization requests must be pushed (RFC 9126).
    package var requiresPushedAuthorizationRequests = false
    package var scopes: [String]?
    /// The published values of `grant_type`; `nil` if not published, which says nothing.
    package var grantTypes: [String]?
    /// The published algorithms of ID tokens; `nil` if not published, which means any supported algorithm.
    package var idTokenAlgorithms: [SignatureAlgorithm]?
    /// The place of a client's secret: in the form, unless the provider accepts only HTTP Basic.
    package var clientSecretPlace = ClientCredentials.Place.form

    package init(
        issuer: String? = nil,
        authorizationEndpoint: String,
        tokenEndpoint: String,
        deviceAuthorizationEndpoint: String? = nil,
        endSessionEndpoint: String? = nil,
        revocationEndpoint: String? = nil,
        jwksURI: String? = nil
    ) {
        self.issuer = issuer
        self.authorizationEndpoint = authorizationEndpoint
        self.tokenEndpoint = tokenEndpoint
        self.deviceAuthorizationEndpoint = deviceAuthorizationEndpoint
        self.endSessionEndpoint = endSessionEndpoint
        self.revocationEndpoint = revocationEndpoint
        self.jwksURI = jwksURI
    }
}

extension ProviderMetadata {
    /// Whether the provider may exchange tokens, by what it publishes.
    var exchangesTokens: Bool { grantTypes?.contains(GrantType.tokenExchange.rawValue) ?? true }

    /// The addresses of the keys for ID tokens, which are tried in order until a key fits; empty if none is published.
    ///
    /// Most applications of Entra ID need only the common set. An application with claims mapping has its own signing
    /// key in its own set; for other applications that set has the common keys. A cached set of this kind is tried
    /// before any set is fetched again, because such an application needs it for every token.
    /// - SeeAlso: [Access tokens, validating the signature](https://learn.microsoft.com/entra/identity-platform/access-tokens#validate-the-signature)
    func jwksURLs(for clientID: String, of authority: Authority) -> [String] {
        guard let url = jwksURI else { return [] }
        guard authority.hasApplicationKeys else { return [url] }
        return [url, url + (url.contains("?") ? "&" : "?") + FormURLEncoded.encode([("appid", clientID)])]
    }
}
