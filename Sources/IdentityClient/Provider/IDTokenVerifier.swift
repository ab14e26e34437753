// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Logging
import OAuthWire

/// Verifies an ID token: signature, then claims.
struct IDTokenVerifier: Sendable {
    let resolver: AuthorityResolver
    let clock: any WallClock
    /// Whether to accept a provider without published keys, because the token came directly from it over TLS.
    let allowsUnpublishedKeys: Bool

    /// The claims, after all checks of the token.
    ///
    /// - Parameter willFetch: Called before keys or endpoints are fetched; not called if those in the cache suffice.
    /// - Throws: `.invalidIDToken`, or the error of fetching the keys.
    func claims(
        of compact: String,
        expecting expectation: IDTokenExpectation,
        metadata: ProviderMetadata,
        context: RequestContext,
        willFetch: @Sendable () async -> Void = {}
    ) async throws -> IDTokenClaims {
        guard !JSONWebToken.isEncrypted(compact) else {
            throw IDTokenExpectation.refused(
                """
                it is encrypted (JWE), and this client has no key to decrypt it. At the provider, turn the encryption of ID \
                tokens off for this client
                """
            )
        }
        let token: JSONWebToken
        let claims: IDTokenClaims
        do {
            token = try JSONWebToken(compact: compact)
            claims = try IDTokenClaims(token.claims)
        } catch {
            throw IDTokenExpectation.refused("it could not be read: \(error)")
        }
        let algorithm = try await verifySignature(of: token, expectation, metadata, context, willFetch)
        try expectation.check(claims, algorithm: algorithm, at: clock.unixSeconds)
        return claims
    }

    /// The claims of another token that the provider signed, after a check of its signature alone.
    ///
    /// The published algorithms are not those of such tokens: any that the library verifies is accepted, if a published
    /// key is for it.
    /// - Throws: `.invalidIDToken`, or the error of fetching the keys.
    func signedClaims(
        of compact: String,
        expecting expectation: IDTokenExpectation,
        metadata: ProviderMetadata,
        context: RequestContext
    ) async throws -> JSONObject {
        let token: JSONWebToken
        do {
            token = try JSONWebToken(compact: compact)
        } catch {
            throw IDTokenExpectation.refused("it could not be read: \(error)")
        }
        var metadata = metadata
        metadata.idTokenAlgorithms = nil
        _ = try await verifySignature(of: token, expectation, metadata, context, {})
        return token.claims
    }

    private func verifySignature(
        of token: JSONWebToken,
        _ expectation: IDTokenExpectation,
        _ metadata: ProviderMetadata,
        _ context: RequestContext,
        _ willFetch: @Sendable () async -> Void
    ) async throws -> SignatureAlgorithm {
        guard let algorithm = token.signatureAlgorithm else {
            throw Self.refusal(.algorithmNotAllowed, of: token)
        }
        let metadata = try await self.metadata(admitting: algorithm, expectation, metadata, context, willFetch)
        if metadata.jwksURI == nil, allowsUnpublishedKeys { return algorithm }
        let urls = metadata.jwksURLs(for: expectation.clientID, of: expectation.authority)
        guard !urls.isEmpty else {
            throw context.error(
                .unsupported,
                "The provider publishes no keys (jwks_uri), so its ID tokens cannot be verified."
            )
        }
        // Tries the next set even if the key's name is known: a provider may publish another key under the old
        // name, or without a name.
        var problems: [SignatureError] = []
        var (failure, failed): (AuthenticationError?, Set<String>) = (nil, [])
        // The sets that are kept come before those that are fetched again. The common set is fetched again last, so that
        // no sign-in depends on a set that most applications do not need.
        let attempts = urls.map { ($0, isRefetch: false) } + urls.reversed().map { ($0, isRefetch: true) }
        for (url, isRefetch) in attempts where !failed.contains(url) {
            do {
                let keys = try await resolver.keys(
                    at: url,
                    isRefetch: isRefetch,
                    authority: expectation.authority,
                    context: context,
                    willFetch: willFetch
                )
                failure = nil
                return try keys.verify(token)
            } catch let problem as SignatureError {
                problems.append(problem)
            } catch let error as AuthenticationError {
                (failure, failed) = (error, failed.union([url]))
            }
        }
        // If the last set is unreachable, a signature that is wrong by the known keys stays wrong; for an unknown
        // key the signer stays unknown.
        guard let failure else { throw Self.refusal(problems.last ?? .unknownKey, of: token) }
        guard let problem = problems.first(where: { $0 != .unknownKey }) else { throw failure }
        context.logger.debug(
            "The keys could not be fetched again",
            metadata: ["identity.error": "\(failure.shortDescription)"]
        )
        throw Self.refusal(problem, of: token)
    }

    /// The endpoints, if they list this signature algorithm. A cached document may be older than the provider's
    /// algorithm: it is fetched again before a refusal.
    /// - SeeAlso: [OpenID Connect Core §3.1.3.7](https://openid.net/specs/openid-connect-core-1_0.html#IDTokenValidation),
    ///   item 7
    private func metadata(
        admitting algorithm: SignatureAlgorithm,
        _ expectation: IDTokenExpectation,
        _ metadata: ProviderMetadata,
        _ context: RequestContext,
        _ willFetch: @Sendable () async -> Void
    ) async throws -> ProviderMetadata {
        let admits = { (metadata: ProviderMetadata) in metadata.idTokenAlgorithms?.contains(algorithm) ?? true }
        if admits(metadata) { return metadata }
        let authority = expectation.authority
        if authority.idTokenAlgorithms == nil {
            let fresh = try await resolver.metadata(
                for: authority,
                isRefetch: true,
                context: context,
                willFetch: willFetch
            )
            if admits(fresh) { return fresh }
        }
        throw IDTokenExpectation.refused(
            """
            it is signed with \(algorithm.rawValue), which is not among the algorithms that the provider publishes (alg, \
            id_token_signing_alg_values_supported) or the program names. If the provider publishes them wrongly, name them \
            with the authority
            """
        )
    }

    private static func refusal(_ error: SignatureError, of token: JSONWebToken) -> AuthenticationError {
        switch error {
        case .algorithmNotAllowed:
            IDTokenExpectation.refused(
                "its signature algorithm, \(WireText.quoted(token.algorithm, upTo: 20)), is none that is accepted (alg): "
                    + "choose RS256 or ES256 at the provider"
            )
        case .unknownKey: IDTokenExpectation.refused("no published key signed it (kid)")
        case .keyMismatch: IDTokenExpectation.refused("its key is for another algorithm (kid, alg)")
        case .badSignature: IDTokenExpectation.refused("its signature is wrong")
        }
    }
}

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
        case .authorizationServer(let configured, _, _):
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
        case .oauth2, .authorizationServer:
            return false
        }
    }

    /// Whether an endpoint in the configuration is allowed.
    package func accepts(endpoint: String) -> Bool {
        guard let address = WebAddress(endpoint) else { return false }
        guard address.scheme == "https" || base.scheme == "http" else { return false }
        // A document from elsewhere leads to no server of this computer.
        let isNear = base.isLoopback || resource.flatMap { WebAddress($0) }?.isLoopback == true
        guard !address.mayBeLoopback || isNear else { return false }
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
