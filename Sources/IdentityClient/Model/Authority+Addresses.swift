// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// Values that follow from the address alone, without a request.
extension Authority {
    /// The canonical address, as error texts and logs show it.
    package var url: String {
        switch kind {
        case .entra(let base, let tenant): "\(base.origin)/\(tenant)/"
        case .b2c(let base, let tenant, let policy, .tfp): "\(base.origin)/tfp/\(tenant)/\(policy)/"
        case .b2c(let base, let tenant, let policy, .path): "\(base.origin)/\(tenant)/\(policy)/"
        case .b2c(let base, let tenant, _, .query(let spelled)): "\(base.origin)/\(tenant)/?p=\(spelled)"
        case .externalID(let base, let tenant): "\(base.origin)/\(tenant)/"
        case .adfs(let base): "\(base.origin)/adfs/"
        case .openIDConnect(let issuer, _, _): issuer
        case .oauth2(let endpoints): endpoints.token
        }
    }

    /// The scheme, host and port of the authority.
    package var base: WebAddress {
        switch kind {
        case .entra(let base, _), .b2c(let base, _, _, _), .externalID(let base, _), .adfs(let base): base
        case .openIDConnect(let issuer, _, _): WebAddress(issuer) ?? WebAddress(host: "invalid")
        case .oauth2(let endpoints): WebAddress(endpoints.token) ?? WebAddress(host: "invalid")
        }
    }

    /// The host and port, which MSAL calls an account's environment.
    package var environment: String { base.environment }

    /// Whether the provider speaks Microsoft's extensions: `client_info`, correlation headers, tenants.
    package var isMicrosoft: Bool {
        switch kind {
        case .entra, .b2c, .externalID, .adfs: true
        case .openIDConnect, .oauth2: false
        }
    }

    /// The tenant in the path; `nil` if there is none.
    package var tenant: String? {
        switch kind {
        case .entra(_, let tenant), .b2c(_, let tenant, _, _), .externalID(_, let tenant): tenant
        case .adfs, .openIDConnect, .oauth2: nil
        }
    }

    /// The name of the set of credentials that belong together: the cloud, the B2C policy, the issuer. It is part of
    /// every cache key.
    package var partition: String {
        switch kind {
        case .entra(let base, _): "entra|" + Self.canonicalEnvironment(base)
        case .b2c(let base, let tenant, let policy, _): "b2c|\(base.environment)|\(tenant)|\(policy)"
        case .externalID(let base, let tenant): "externalid|\(base.environment)|\(tenant)"
        case .adfs(let base): "adfs|\(base.environment)"
        case .openIDConnect(let issuer, _, _): "oidc|" + issuer
        case .oauth2(let endpoints): "oauth2|" + endpoints.token
        }
    }

    /// The realm under which access tokens are stored if the ID token names no tenant.
    package var realm: String {
        switch kind {
        case .entra(_, let tenant), .b2c(_, let tenant, _, _), .externalID(_, let tenant): tenant
        case .adfs: "adfs"
        case .openIDConnect(let issuer, _, _): WebAddress(issuer)?.segments.first ?? ""
        case .oauth2: ""
        }
    }

    /// The addresses at which the provider may publish its configuration, the likeliest first; empty for plain OAuth
    /// 2.0.
    ///
    /// - SeeAlso: [RFC 8414 §3.1](https://www.rfc-editor.org/rfc/rfc8414#section-3.1)
    package var configurationURLs: [String] {
        switch kind {
        case .entra, .externalID, .b2c(_, _, _, .path), .b2c(_, _, _, .tfp):
            return [url + "v2.0/.well-known/openid-configuration"]
        case .b2c(let base, let tenant, _, .query(let spelled)):
            return ["\(base.origin)/\(tenant)/v2.0/.well-known/openid-configuration?p=\(spelled)"]
        case .adfs:
            return [url + ".well-known/openid-configuration"]
        case .openIDConnect(let issuer, _, _):
            guard let address = WebAddress(issuer) else { return [] }
            let path = address.path.hasSuffix("/") ? String(address.path.dropLast()) : address.path
            let query = address.query.map { "?" + $0 } ?? ""
            return [
                "\(address.origin)\(path)/.well-known/openid-configuration\(query)",
                "\(address.origin)/.well-known/oauth-authorization-server\(path)\(query)",
            ]
        case .oauth2:
            return []
        }
    }

    /// Returns the same authority with another tenant; unchanged if it has no tenant to replace.
    package func replacingTenant(with tenant: String) -> Authority {
        guard case .entra(let base, _) = kind else { return self }
        return Authority(kind: .entra(base, tenant: tenant))
    }

    private static func canonicalEnvironment(_ base: WebAddress) -> String {
        base.port == nil ? CloudInstances.canonical(base.host) : base.environment
    }
}

extension Authority {
    /// The scope within which accounts are listed together: the partition without the B2C policy.
    var accountScope: String { Self.accountScope(ofPartition: partition) }

    static func accountScope(ofPartition partition: String) -> String {
        guard partition.hasPrefix("b2c|"), let end = partition.lastIndex(of: "|") else { return partition }
        return String(partition[..<end])
    }
}
