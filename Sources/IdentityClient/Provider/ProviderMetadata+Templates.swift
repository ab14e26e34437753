// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

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
        case .openIDConnect:
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
