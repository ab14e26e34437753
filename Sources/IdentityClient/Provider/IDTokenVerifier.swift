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
            throw AuthenticationError(
                .unsupported,
                "The provider publishes no keys (jwks_uri), so its ID tokens cannot be verified.",
                correlationID: context.correlationID
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
                "its signature algorithm, \(WireText.clean(token.algorithm).prefix(20)), is none that is accepted (alg): "
                    + "choose RS256 or ES256 at the provider"
            )
        case .unknownKey: IDTokenExpectation.refused("no published key signed it (kid)")
        case .keyMismatch: IDTokenExpectation.refused("its key is for another algorithm (kid, alg)")
        case .badSignature: IDTokenExpectation.refused("its signature is wrong")
        }
    }
}
