// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import OAuthWire

/// An authority's endpoints, believed: published and checked, or known from its form.
package struct AuthorityMetadata: Hashable, Sendable {
    /// The issuer that authorization responses and ID tokens name; `nil` where nobody said.
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
    /// Whether an authorization request is taken only when it was pushed (RFC 9126).
    package var requiresPushedAuthorizationRequests = false
    package var scopes: [String]?
    /// What ID tokens may be signed with; `nil` where that was not said, which means any algorithm that is verified.
    package var idTokenAlgorithms: [SignatureAlgorithm]?
    /// Where the provider wants a client's secret; in the form unless it says that it takes HTTP Basic alone.
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
