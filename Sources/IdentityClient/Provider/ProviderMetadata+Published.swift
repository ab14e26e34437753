// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

extension ProviderMetadata {
    /// Checks a published configuration.
    ///
    /// - Parameter correlationID: The identifier of the request that needed it, for errors.
    init(published json: JSONObject, by authority: Authority, correlationID: UUID? = nil) throws {
        let document: DiscoveryDocument
        do {
            document = try DiscoveryDocument(json)
        } catch {
            throw AuthenticationError(
                .malformedResponse,
                "The provider's configuration could not be read: \(error).",
                correlationID: correlationID
            )
        }
        guard authority.accepts(publishedIssuer: document.issuer) else {
            throw AuthenticationError(
                .issuerMismatch,
                """
                The configuration of \(authority.url) names another issuer, \(WireText.clean(document.issuer).prefix(200)). \
                Check the authority; an issuer is compared to the letter, a slash at its end included.
                """,
                correlationID: correlationID
            )
        }
        let tenant = authority.tenant ?? ""
        func endpoint(_ url: String?) throws -> String? {
            guard let url = url.map({ Authority.fillingTemplate($0, tenant: tenant) }) else { return nil }
            guard authority.accepts(endpoint: url) else {
                throw AuthenticationError(
                    .untrustedAuthority,
                    """
                    The configuration of \(authority.url) names an endpoint that is not https, or on a foreign host: \
                    '\(WireText.clean(url).prefix(200))'.
                    """,
                    correlationID: correlationID
                )
            }
            return url
        }
        guard let authorization = try endpoint(document.authorizationEndpoint),
            let token = try endpoint(document.tokenEndpoint)
        else {
            throw AuthenticationError(
                .unsupported,
                "The provider publishes no authorization or token endpoint, so a sign-in is not possible.",
                correlationID: correlationID
            )
        }
        self.init(
            issuer: document.issuer,
            authorizationEndpoint: authority.keepingPolicy(on: authorization),
            tokenEndpoint: authority.keepingPolicy(on: token),
            deviceAuthorizationEndpoint: try endpoint(document.deviceAuthorizationEndpoint)
                ?? authority.deviceAuthorization,
            endSessionEndpoint: try endpoint(document.endSessionEndpoint).map(authority.keepingPolicy),
            revocationEndpoint: try endpoint(document.revocationEndpoint) ?? authority.revocation,
            jwksURI: try endpoint(document.jwksURI)
        )
        pushedAuthorizationRequestEndpoint =
            try endpoint(document.pushedAuthorizationRequestEndpoint).map(authority.keepingPolicy)
        userInfoEndpoint = document.userInfoEndpoint
            .map { authority.keepingPolicy(on: Authority.fillingTemplate($0, tenant: tenant)) }
        introspectionEndpoint = document.introspectionEndpoint
        requiresPushedAuthorizationRequests = document.requirePushedAuthorizationRequests
        responseModes = document.responseModesSupported
        codeChallengeMethods = document.codeChallengeMethodsSupported
        namesIssuerInResponse = document.authorizationResponseIssParameterSupported
        scopes = document.scopesSupported
        grantTypes = document.grantTypesSupported
        idTokenAlgorithms = (authority.idTokenAlgorithms ?? document.idTokenSigningAlgorithms)?
            .compactMap(SignatureAlgorithm.init(name:))
        let methods = document.tokenEndpointAuthMethodsSupported
        if methods.contains("client_secret_basic"), !methods.contains("client_secret_post") {
            clientSecretPlace = .header
        }
    }
}

extension Authority {
    /// In the old form of a B2C authority, the policy is in the query of every endpoint.
    func keepingPolicy(on endpoint: String) -> String {
        guard case .b2c(_, _, _, .query(let spelled)) = kind,
            WebAddress(endpoint)?.query?.split(separator: "&").contains(where: { $0.hasPrefix("p=") }) != true
        else { return endpoint }
        return endpoint + (endpoint.contains("?") ? "&" : "?") + "p=" + spelled
    }
}
