// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// Sends one refresh token under the lease, and stores what it yields.
struct RefreshAttempt: Sendable {
    let environment: FlowEnvironment
    let context: RequestContext
    let request: SilentRequest
    /// What was stored when the refresh token was read.
    let snapshot: CredentialSnapshot
    let sent: CachedRefreshToken

    private var scopes: RefreshScopes { RefreshScopes(request, stored: sent) }

    private var brakes: RefreshBrakes {
        RefreshBrakes(environment: environment, context: context, request: request, credentials: snapshot.credentials)
    }

    func run(under lease: RefreshLeaseHolder.Held) async throws -> AcquiredToken {
        try await brakes.check(sent)
        try await outlast(lease)
        let metadata = try await environment.resolver.metadata(for: request.authority, context: context)
        var stored = sent
        do {
            let response = try await redeem(metadata, lease)
            // Until the new refresh token is stored, too. Who lost the lease stores it all the same.
            try? await outlast(lease)
            let grant = try await validated(response, metadata, &stored)
            brakes.forget(sent)
            return try await commit(grant, metadata)
        } catch let error as AuthenticationError {
            await brakes.note(error, for: stored)
            throw scopes.explaining(error)
        }
    }

    /// Makes sure that the lease outlasts one more request.
    private func outlast(_ lease: RefreshLeaseHolder.Held) async throws {
        try await environment.store.wrapping { try await lease.outlast(environment.client.deadline) }
    }

    private func redeem(
        _ metadata: AuthorityMetadata,
        _ lease: RefreshLeaseHolder.Held
    ) async throws -> TokenResponse {
        let form = TokenRequestMessage.refreshToken(
            clientID: environment.clientID,
            refreshToken: sent.secret,
            scopes: scopes.sent(defaults: environment.configuration.scopesToAdd(for: request.authority, metadata)),
            claims: request.claims,
            clientInfo: request.authority.hasHomeAccounts
        )
        let endpoint = TokenEndpoint(environment, request.authority, metadata, context)
        try await outlast(lease)
        return try await endpoint.redeemRefreshToken(
            form,
            retries: environment.configuration.retriesUnansweredRefreshes
        ) {
            try await outlast(lease)
        }
    }

    /// Decides whether the answer is believed. One that is not gives no access token and no claims; but the server has
    /// spent the refresh token, so that the new one is kept.
    private func validated(
        _ response: TokenResponse,
        _ metadata: AuthorityMetadata,
        _ stored: inout CachedRefreshToken
    ) async throws -> TokenGrant {
        let validation = GrantValidation(environment: environment, context: context)
        do {
            return try await validation.refreshGrant(
                response,
                request: request,
                snapshot: snapshot,
                metadata: metadata,
                scopes: scopes
            )
        } catch let error as AuthenticationError {
            if let secret = response.refreshToken, secret != sent.secret,
                validation.isAboutThePerson(response, request, snapshot)
            {
                try await keep(secret)
                stored = CachedRefreshToken(secret: secret, modifiedAt: environment.clock.unixSeconds)
                brakes.move(from: sent, to: stored)
            }
            throw error
        }
    }
}
