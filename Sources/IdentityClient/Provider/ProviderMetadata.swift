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
    package var jwksURI: String?
    package var responseModes: [String]?
    package var codeChallengeMethods: [String]?
    /// Whether every authorization response names its issuer (RFC 9207).
    package var namesIssuerInResponse = false
    /// Whether authorization requests must be pushed (RFC 9126).
    package var requiresPushedAuthorizationRequests = false
    package var scopes: [String]?
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
