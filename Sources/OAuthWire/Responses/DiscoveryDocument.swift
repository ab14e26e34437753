// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A server's description of itself.
///
/// The types of used members are checked here; a caller that knows the authority checks issuer and endpoints.
/// - SeeAlso: [OpenID Connect Discovery §3](https://openid.net/specs/openid-connect-discovery-1_0.html),
///   [RFC 8414 §2](https://www.rfc-editor.org/rfc/rfc8414#section-2)
package struct DiscoveryDocument: Sendable {
    package let issuer: String
    package let authorizationEndpoint: String?
    package let tokenEndpoint: String?
    package let jwksURI: String?
    package let deviceAuthorizationEndpoint: String?
    package let endSessionEndpoint: String?
    /// `userinfo_endpoint`; `nil` if it is absent or no text. No sign-in depends on it.
    package let userInfoEndpoint: String?
    package let revocationEndpoint: String?
    /// `introspection_endpoint`; `nil` if it is absent or no text. No sign-in depends on it.
    package let introspectionEndpoint: String?
    package let pushedAuthorizationRequestEndpoint: String?
    /// `registration_endpoint`; `nil` if it is absent or no text. No sign-in of a registered client depends on it.
    package let registrationEndpoint: String?
    /// `client_id_metadata_document_supported`; `false` if the server does not say.
    package let clientIDMetadataDocumentSupported: Bool
    /// `dpop_signing_alg_values_supported`; `nil` if it is absent or not an array of texts.
    package let dpopSigningAlgorithms: [String]?
    package let responseModesSupported: [String]?
    package let codeChallengeMethodsSupported: [String]?
    /// `response_types_supported`; `nil` if it is absent or not an array of texts.
    package let responseTypesSupported: [String]?
    package let scopesSupported: [String]?
    /// `grant_types_supported`; `nil` if it is absent or not an array of texts.
    package let grantTypesSupported: [String]?
    /// `id_token_signing_alg_values_supported`; `nil` if it is absent or not an array of texts.
    package let idTokenSigningAlgorithms: [String]?
    /// Empty if the member is not an array of texts. If it is absent, its default counts: `client_secret_basic`.
    package let tokenEndpointAuthMethodsSupported: [String]
    /// Whether answers through the browser carry `iss`; `false` if the server does not say.
    package let authorizationResponseIssParameterSupported: Bool
    /// Whether authorization requests must be pushed (RFC 9126 §5); `false` if the server does not say.
    package let requirePushedAuthorizationRequests: Bool

    /// Reads the document.
    /// - Throws: `WireError` if the issuer is missing or a used member has a wrong type.
    package init(_ json: JSONObject) throws {
        issuer = try json.requiredString("issuer")
        authorizationEndpoint = try json.optionalString("authorization_endpoint")
        tokenEndpoint = try json.optionalString("token_endpoint")
        jwksURI = try json.optionalString("jwks_uri")
        deviceAuthorizationEndpoint = try json.optionalString("device_authorization_endpoint")
        endSessionEndpoint = try json.optionalString("end_session_endpoint")
        userInfoEndpoint = json.string("userinfo_endpoint")
        introspectionEndpoint = json.string("introspection_endpoint")
        revocationEndpoint = try json.optionalString("revocation_endpoint")
        pushedAuthorizationRequestEndpoint = try json.optionalString("pushed_authorization_request_endpoint")
        registrationEndpoint = json.string("registration_endpoint")
        clientIDMetadataDocumentSupported = json.bool("client_id_metadata_document_supported") ?? false
        dpopSigningAlgorithms = json.strings("dpop_signing_alg_values_supported")
        responseModesSupported = try json.optionalStrings("response_modes_supported")
        responseTypesSupported = json.strings("response_types_supported")
        codeChallengeMethodsSupported = try json.optionalStrings("code_challenge_methods_supported")
        scopesSupported = try json.optionalStrings("scopes_supported")
        grantTypesSupported = json.strings("grant_types_supported")
        idTokenSigningAlgorithms = json.strings("id_token_signing_alg_values_supported")
        tokenEndpointAuthMethodsSupported =
            json["token_endpoint_auth_methods_supported"] == nil
            ? ["client_secret_basic"] : json.strings("token_endpoint_auth_methods_supported") ?? []
        authorizationResponseIssParameterSupported =
            try json.optionalBool("authorization_response_iss_parameter_supported") ?? false
        requirePushedAuthorizationRequests = try json.optionalBool("require_pushed_authorization_requests") ?? false
    }
}
