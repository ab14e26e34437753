// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
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
    /// Whether tokens can be bound to a key (RFC 9449), by what the server publishes.
    package var bindsTokens = false
    /// The endpoint at which programs register; `nil` if it is not published, or not acceptable.
    package var registrationEndpoint: String?
    /// Whether the address of a program's metadata document may be its client id.
    package var takesClientIDMetadataDocument = false

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
                .invalidResponse,
                """
                The configuration of \(authority.url) names another issuer, \(WireText.quoted(document.issuer)). \
                Check the authority; an issuer is compared to the letter, a slash at its end included.
                """,
                correlationID: correlationID
            )
        }
        if case .authorizationServer = authority.kind {
            try document.checkPublicClients(of: authority, correlationID)
        }
        let tenant = authority.tenant ?? ""
        func endpoint(_ url: String?) throws -> String? {
            guard let url = url.map({ Authority.fillingTemplate($0, tenant: tenant) }) else { return nil }
            guard authority.accepts(endpoint: url) else {
                throw AuthenticationError(
                    .untrustedAuthority,
                    """
                    The configuration of \(authority.url) names an endpoint that is not https, or on a foreign host: \
                    \(WireText.quoted(url)).
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
        registrationEndpoint = document.registrationEndpoint.flatMap { authority.accepts(endpoint: $0) ? $0 : nil }
        bindsTokens = document.dpopSigningAlgorithms?.contains(DPoPKey.algorithm.rawValue) == true
        takesClientIDMetadataDocument = document.clientIDMetadataDocumentSupported
        let methods = document.tokenEndpointAuthMethodsSupported
        if methods.contains("client_secret_basic"), !methods.contains("client_secret_post") {
            clientSecretPlace = .header
        }
    }
}

extension DiscoveryDocument {
    /// - SeeAlso: [RFC 8414 §2](https://www.rfc-editor.org/rfc/rfc8414#section-2)
    fileprivate func checkPublicClients(of authority: Authority, _ correlationID: UUID?) throws {
        let lacksPKCE = !(codeChallengeMethodsSupported?.contains("S256") ?? authority.assumesPKCE)
        guard lacksPKCE || responseTypesSupported?.contains("code") == false else { return }
        let lack = lacksPKCE ? "PKCE with S256 (code_challenge_methods_supported)" : "code (response_types_supported)"
        let isUnsaid = lacksPKCE && codeChallengeMethodsSupported == nil
        throw AuthenticationError(
            .unsupported,
            "\(authority.url) does not publish \(lack), so that a sign-in would not be safe. The server must be changed."
                + (isUnsaid ? " If you know that it checks S256, set assumesPKCE (identityctl: --assume-pkce)." : ""),
            correlationID: correlationID
        )
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

extension Authority {
    /// The endpoints that follow from the authority's form; `nil` if only the provider knows them.
    package var templates: ProviderMetadata? {
        let root: String
        var query = ""
        switch kind {
        case .entra, .externalID, .b2c(_, _, _, .path), .b2c(_, _, _, .tfp):
            root = url + "oauth2/v2.0/"
        case .b2c(let base, let tenant, _, .query(let spelled)):
            root = "\(base.origin)/\(tenant)/oauth2/v2.0/"
            query = "?p=\(spelled)"
        case .adfs:
            root = url + "oauth2/"
        case .oauth2(let endpoints):
            var metadata = ProviderMetadata(
                issuer: endpoints.issuer,
                authorizationEndpoint: endpoints.authorization,
                tokenEndpoint: endpoints.token,
                deviceAuthorizationEndpoint: endpoints.deviceAuthorization,
                revocationEndpoint: endpoints.revocation
            )
            metadata.namesIssuerInResponse = endpoints.issuer != nil
            return metadata
        case .openIDConnect, .authorizationServer:
            return nil
        }
        return ProviderMetadata(
            authorizationEndpoint: root + "authorize" + query,
            tokenEndpoint: root + "token" + query,
            deviceAuthorizationEndpoint: root + "devicecode" + query,
            endSessionEndpoint: root + "logout" + query,
            jwksURI: keysTemplate
        )
    }

    private var keysTemplate: String {
        switch kind {
        case .b2c(let base, let tenant, _, .query(let spelled)):
            "\(base.origin)/\(tenant)/discovery/v2.0/keys?p=\(spelled)"
        case .adfs: url + "discovery/keys"
        default: url + "discovery/v2.0/keys"
        }
    }
}
