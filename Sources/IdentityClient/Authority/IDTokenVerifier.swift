// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Logging
import OAuthWire

/// Verifies an ID token: signature, then claims.
struct IDTokenVerifier: Sendable {
    let resolver: AuthorityResolver
    let clock: any WallClock
    /// Whether a provider without published keys is believed because the token came straight from it over TLS.
    let allowsUnpublishedKeys: Bool

    /// The claims, when everything about the token is right.
    ///
    /// - Throws: `.invalidIDToken`; or why the keys could not be had.
    func claims(
        of compact: String,
        expecting expectation: IDTokenExpectation,
        metadata: AuthorityMetadata,
        context: RequestContext
    ) async throws -> IDTokenClaims {
        let token: JSONWebToken
        let claims: IDTokenClaims
        do {
            token = try JSONWebToken(compact: compact)
            claims = try IDTokenClaims(token.claims)
        } catch {
            throw IDTokenExpectation.refused("it could not be read: \(error)")
        }
        let algorithm = try await verifySignature(of: token, expectation.authority, metadata, context)
        try expectation.check(claims, algorithm: algorithm, at: clock.unixSeconds)
        return claims
    }

    private func verifySignature(
        of token: JSONWebToken,
        _ authority: Authority,
        _ metadata: AuthorityMetadata,
        _ context: RequestContext
    ) async throws -> SignatureAlgorithm {
        guard let algorithm = token.signatureAlgorithm else {
            throw IDTokenExpectation.refused("its signature algorithm is none that is accepted (alg)")
        }
        if metadata.jwksURI == nil, allowsUnpublishedKeys { return algorithm }
        let keys = try await resolver.keys(of: metadata, authority: authority, context: context)
        do {
            return try keys.verify(token)
        } catch SignatureError.algorithmNotAllowed {
            throw Self.refusal(.algorithmNotAllowed)
        } catch {
            // Also where the name is known: a provider may publish another key under the old name, or under none.
            let fresh = try await freshKeys(after: error, metadata, authority, context)
            do {
                return try fresh.verify(token)
            } catch {
                throw Self.refusal(error)
            }
        }
    }

    /// The keys that are published now. What is wrong by the known ones stays wrong where no others can be had; a key that
    /// is not among them leaves open who signed.
    private func freshKeys(
        after problem: SignatureError,
        _ metadata: AuthorityMetadata,
        _ authority: Authority,
        _ context: RequestContext
    ) async throws -> JSONWebKeySet {
        do {
            return try await resolver.keys(of: metadata, authority: authority, isRefetch: true, context: context)
        } catch let error as AuthenticationError where problem != .unknownKey {
            context.logger.debug(
                "The keys could not be fetched anew",
                metadata: ["identity.error": "\(error.shortDescription)"]
            )
            throw Self.refusal(problem)
        }
    }

    private static func refusal(_ error: SignatureError) -> AuthenticationError {
        switch error {
        case .algorithmNotAllowed: IDTokenExpectation.refused("its signature algorithm is none that is accepted (alg)")
        case .unknownKey: IDTokenExpectation.refused("no published key signed it (kid)")
        case .keyMismatch: IDTokenExpectation.refused("its key is for another algorithm (kid, alg)")
        case .badSignature: IDTokenExpectation.refused("its signature is wrong")
        }
    }
}
