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

    /// - Returns: `nil` where another sign-in took this one's place meanwhile: what is stored now is to be looked at.
    func run(under lease: RefreshLeaseHolder.Held) async throws -> AcquiredToken? {
        try await brakes.check(sent)
        try await outlast(lease)
        let metadata = try await metadata()
        try await outlast(lease)
        let keysFailure = await fetchKeys(metadata)
        var rotated: RotatedToken?
        do {
            let response = try await redeem(metadata, lease)
            let answer = RotatedToken(response, to: self)
            rotated = answer
            // Until the answer is stored, too, which waits for nothing. Who lost the lease stores it all the same.
            let renewal = Task { try? await outlast(lease) }
            let outcome: Result<AcquiredToken?, any Error>
            do {
                outcome = .success(try await store(response, answer, metadata, keysFailure))
            } catch { outcome = .failure(error) }
            await renewal.value
            return try outcome.get()
        } catch let error as AuthenticationError {
            let stored = rotated?.current ?? sent
            if stored != sent { brakes.move(from: sent, to: stored) }
            await brakes.note(error, for: stored)
            await remember(error)
            throw scopes.explaining(error)
        }
    }

    /// Where the provider publishes that it wants no requests now, nothing is sent to its token endpoint either.
    private func metadata() async throws -> AuthorityMetadata {
        do {
            return try await environment.resolver.metadata(for: request.authority, context: context)
        } catch let error as AuthenticationError where .serverUnavailable ~= error.code {
            await brakes.note(error, for: sent)
            throw error
        }
    }

    /// Has the keys at hand before the refresh token is spent, where an ID token is to be expected.
    ///
    /// - Returns: Why they cannot be had: then they are not asked for again with the answer in hand.
    private func fetchKeys(_ metadata: AuthorityMetadata) async -> AuthenticationError? {
        guard request.authority.issuesIDTokens, snapshot.credentials.profiles.contains(where: { $0.idToken != nil })
        else { return nil }
        let validation = GrantValidation(environment: environment, context: context)
        return await validation.fetchKeys(metadata, of: request.authority)
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
            retries: environment.configuration.compatibility.retriesUnansweredRefreshes
        ) {
            try await outlast(lease)
        }
    }

    /// Decides whether the answer is believed, and stores it. One that is not gives no access token and no claims; but the
    /// server has spent the refresh token, so that the new one is kept.
    private func store(
        _ response: TokenResponse,
        _ rotated: RotatedToken,
        _ metadata: AuthorityMetadata,
        _ keysFailure: AuthenticationError?
    ) async throws -> AcquiredToken? {
        let validation = GrantValidation(environment: environment, context: context)
        let grant: TokenGrant
        do {
            grant = try await validation.refreshGrant(
                response,
                request: request,
                snapshot: snapshot,
                metadata: metadata,
                scopes: scopes,
                keysFailure: keysFailure
            ) { await rotated.keep() }
        } catch {
            await rotated.keep()
            throw error
        }
        brakes.forget(sent)
        return try await commit(grant, metadata, replacing: rotated.current)
    }
}
