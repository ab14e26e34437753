// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Logging
import OAuthWire

/// Tells the server that a token is no longer needed.
///
/// - SeeAlso: [RFC 7009](https://www.rfc-editor.org/rfc/rfc7009)
struct Revocation: Sendable {
    let environment: FlowEnvironment
    let context: RequestContext

    /// Revokes a refresh token that arrived after its account was signed out, or with a sign-in that was refused.
    /// Errors are ignored: the token is discarded either way.
    func revokeUnwanted(
        _ token: String?,
        _ authority: Authority,
        _ metadata: ProviderMetadata,
        provenBy key: DPoPKey? = nil
    ) async {
        guard let token else { return }
        do {
            guard let endpoint = try await endpoint(authority, metadata) else { return }
            try await revoke((token, environment.clientID, key), at: endpoint, authority, metadata)
        } catch {
            context.logger.debug("Tokens that are not wanted could not be revoked")
        }
    }

    /// Revokes the refresh tokens of a signed-out account, each in the name of the client that received it. If one
    /// fails, the others are still revoked.
    func revoke(
        _ held: [AccountCredentials],
        _ authority: Authority,
        _ metadata: ProviderMetadata
    ) async throws -> SignOutResult.Outcome {
        let tokens = held.compactMap { credentials in
            credentials.refreshToken.map {
                (secret: $0.secret, clientID: credentials.clientID, key: credentials.dpopKey)
            }
        }
        guard !tokens.isEmpty else { return .notNeeded }
        guard let endpoint = try await endpoint(authority, metadata) else { return .unavailable }
        do {
            for credentials in held { try credentials.localServers.check(endpoint) }
        } catch let error as AuthenticationError { return .failed(error) }
        var failure: AuthenticationError?
        for token in tokens {
            do {
                try await revoke(token, at: endpoint, authority, metadata)
            } catch let error as AuthenticationError {
                failure = failure ?? error
            }
        }
        return failure.map { .failed($0) } ?? .succeeded
    }

    private func endpoint(_ authority: Authority, _ metadata: ProviderMetadata) async throws -> String? {
        try await environment.resolver.endpoint(\.revocationEndpoint, of: authority, metadata, context: context)
    }

    private func revoke(
        _ token: (secret: String, clientID: String, key: DPoPKey?),
        at endpoint: String,
        _ authority: Authority,
        _ metadata: ProviderMetadata
    ) async throws {
        let (response, body) = try await environment.client.post(
            RevocationRequestMessage.items(clientID: token.clientID, token: token.secret),
            to: endpoint,
            secretIn: metadata.clientSecretPlace,
            provenBy: token.key,
            context: context,
            authority: authority
        )
        // The status alone decides (RFC 7009 §2.2): a token that the server does not know counts as revoked.
        guard response.status.kind != .successful else { return }
        let status = response.status.code
        let words = (try? JSONObject(received: body)).flatMap(ErrorResponse.init)  // often there is no body
        guard status < 500, status != 429, status != 408 else {
            throw context.error(
                status == 429 ? .throttled : .serverUnavailable,
                "The provider could not revoke the token now (\(status)).",
                serverError: ServerError(words, status: status),
                retryAfter: response.retryAfter(now: environment.clock.unixSeconds)
            )
        }
        throw OAuthErrorMapping.error(words, status: status, grant: nil, context: context)
    }
}
