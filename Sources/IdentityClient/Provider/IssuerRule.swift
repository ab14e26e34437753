// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

// Rules for the issuer in an authority's configuration and in its ID tokens.
extension Authority {
    /// Whether this authority may publish this `issuer`.
    ///
    /// - SeeAlso: [OpenID Connect Discovery §4.3](https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderConfigurationValidation),
    ///   [RFC 8414 §3.3](https://www.rfc-editor.org/rfc/rfc8414#section-3.3)
    package func accepts(publishedIssuer issuer: String) -> Bool {
        switch kind {
        case .openIDConnect(let configured, .exact, _):
            return WireText.areSame(issuer, configured)
        case .openIDConnect(_, .sameHost, _):
            return WebAddress(issuer)?.origin == base.origin
        case .openIDConnect(_, .allowed(let issuers), _):
            return issuers.contains { WireText.areSame($0, issuer) }
        case .entra(_, let tenant):
            // Deviation: Entra publishes a template, `https://…/{tenantid}/v2.0`, for several tenants at once.
            guard let address = WebAddress(Self.fillingTemplate(issuer, tenant: tenant)) else { return false }
            return isSameCloud(address) && address.segments.count == 2 && address.segments[1] == "v2.0"
        case .externalID(_, let tenant):
            guard let address = WebAddress(issuer) else { return false }
            return address.origin == base.origin || Self.isExternalID(issuer: address, of: tenant)
        case .b2c, .adfs:
            return WebAddress(issuer)?.origin == base.origin
        case .oauth2:
            return false
        }
    }

    /// Whether an ID token with this `iss` and `tid` comes from this authority.
    ///
    /// - Parameter published: The issuer of the authority's configuration, if known.
    package func accepts(tokenIssuer issuer: String, tenantID: String?, published: String?) -> Bool {
        switch kind {
        case .entra(_, let tenant):
            guard let tenantID, !tenantID.isEmpty, let address = WebAddress(issuer), isSameCloud(address),
                WireText.areSame(address.path, "/\(tenantID)/v2.0"), address.query == nil
            else { return false }
            return switch tenant {
            case "common", "organizations": true
            case "consumers": tenantID == CloudInstances.consumersTenantID
            case _ where Self.isGUID(tenant): tenant == tenantID.lowercased()
            default: Self.tenant(inPublished: published).map { $0 == tenantID.lowercased() } ?? true
            }
        case .b2c, .externalID, .adfs:
            // Without a published issuer (only the templates are known), the host decides.
            return published.map { WireText.areSame($0, issuer) } ?? accepts(publishedIssuer: issuer)
        case .openIDConnect:
            return published.map { WireText.areSame($0, issuer) } ?? false
        case .oauth2:
            return false
        }
    }

    /// Whether an endpoint in the configuration is allowed.
    package func accepts(endpoint: String) -> Bool {
        guard let address = WebAddress(endpoint) else { return false }
        guard address.scheme == "https" || base.scheme == "http" else { return false }
        if case .entra = kind { return isSameCloud(address) }
        return true
    }

    /// Whether the UserInfo endpoint in the configuration may get an access token.
    ///
    /// Deviation: Entra ID's is at Microsoft Graph, on another host than its other endpoints.
    package func accepts(userInfoEndpoint endpoint: String) -> Bool {
        if accepts(endpoint: endpoint) { return true }
        guard case .entra = kind, let address = WebAddress(endpoint), address.scheme == "https" else { return false }
        return address.port == nil && CloudInstances.graphHosts.contains(address.host)
    }

    private func isSameCloud(_ address: WebAddress) -> Bool {
        if address.origin == base.origin { return true }
        return address.scheme == "https" && address.port == nil && base.port == nil
            && CloudInstances.aliases(of: base.host).contains(address.host)
    }

    /// Deviation: External ID names `https://{tenant ID}.ciamlogin.com/{tenant ID}/v2.0`, also on a custom domain.
    private static func isExternalID(issuer: WebAddress, of tenant: String) -> Bool {
        guard issuer.scheme == "https", issuer.port == nil, issuer.query == nil, CloudInstances.isCIAM(issuer.host),
            let issuing = issuer.segments.first?.lowercased(), issuer.segments.dropFirst() == ["v2.0"], isGUID(issuing)
        else { return false }
        return issuer.host.hasPrefix("\(issuing).") && (tenant == issuing || !isGUID(tenant))
    }

    /// The identifier of a tenant named by a domain, which Entra publishes in the issuer; `nil` if only address templates are known, or if the issuer is a template.
    private static func tenant(inPublished issuer: String?) -> String? {
        guard let issuer, !issuer.utf8.contains(UInt8(ascii: "{")) else { return nil }
        return WebAddress(issuer)?.segments.first?.lowercased()
    }

    static func fillingTemplate(_ text: String, tenant: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "{")) else { return text }
        return text.replacing("{tenantid}", with: tenant).replacing("{tenant}", with: tenant)
    }

    static func isGUID(_ text: String) -> Bool {
        let groups = text.split(separator: "-", omittingEmptySubsequences: false)
        return groups.map(\.utf8.count) == [8, 4, 4, 4, 12] && groups.allSatisfy { $0.allSatisfy(\.isHexDigit) }
    }
}
