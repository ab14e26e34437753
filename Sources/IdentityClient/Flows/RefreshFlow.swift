// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Logging
import OAuthWire

/// Redeems the refresh token, once for all processes that share it, and stores what it yields.
///
/// The order is: take the lease, read again, find the provider, redeem, commit, give the lease back. The refresh token
/// decides the commit, not the lease. Whoever waits for another process's refresh needs nothing of the provider.
struct RefreshFlow: Sendable {
    let environment: FlowEnvironment
    let context: RequestContext

    func run(_ request: SilentRequest) async throws -> AcquiredToken {
        let holder = RefreshLeaseHolder(
            cache: environment.store.cache,
            key: environment.store.key(for: request.id).lease,
            duration: environment.client.deadline + .seconds(15)
        )
        let store = environment.store
        var found: AcquiredToken?
        let lease = try await store.wrapping {
            try await holder.acquire {
                found = try await settled(request)
                return found != nil
            }
        }
        guard let lease else {
            guard let found else { throw Self.removed(context) }
            return found
        }
        // Whoever has the lease almost always sends a request; what is to be read before that takes as long.
        environment.client.transport.prepare()
        let outcome: Result<AcquiredToken, any Error>
        do { outcome = .success(try await refresh(request, lease)) } catch { outcome = .failure(error) }
        await lease.release()
        return try outcome.get()
    }

    /// What another process has put there meanwhile, when it answers the request.
    func settled(_ request: SilentRequest) async throws -> AcquiredToken? {
        guard !request.need.skipsAccessToken, let snapshot = try await environment.store.snapshot(for: request.id),
            case .valid(let token) = snapshot.credentials.selection(
                for: request.need,
                at: environment.clock.unixSeconds
            )
        else { return nil }
        return AcquiredToken(snapshot: snapshot, token: token, source: .cache)
    }

    /// Under the lease: reads again, and redeems what is stored now. Who finds another refresh token after a refusal
    /// tries once more with that one.
    private func refresh(
        _ request: SilentRequest,
        _ lease: RefreshLeaseHolder.Held
    ) async throws -> AcquiredToken {
        var refused: (token: String, error: AuthenticationError)?
        while true {
            guard let snapshot = try await environment.store.snapshot(for: request.id) else {
                throw Self.removed(context)
            }
            let selection = snapshot.credentials.selection(for: request.need, at: environment.clock.unixSeconds)
            if case .valid(let token) = selection {
                return AcquiredToken(snapshot: snapshot, token: token, source: .cache)
            }
            guard let token = snapshot.credentials.refreshToken else {
                throw refused?.error ?? Self.withoutToken(context)
            }
            if let refused, refused.token == token.secret { throw refused.error }
            try snapshot.credentials.checkMayBeRewritten()
            do {
                return try await redeem(token, of: snapshot, for: request, lease)
            } catch let error as AuthenticationError
                where .interactionRequired ~= error.code && error.code != .accountRemoved
            {
                guard refused == nil else { throw error }
                refused = (token.secret, error)
                try await drop(token, after: error, request.id)
            }
        }
    }

    private func redeem(
        _ token: CachedRefreshToken,
        of snapshot: CredentialSnapshot,
        for request: SilentRequest,
        _ lease: RefreshLeaseHolder.Held
    ) async throws -> AcquiredToken {
        let loopKey = request.loopKey(snapshot.credentials, token)
        let waits = SharedThrottle(environment: environment, key: request.waitKey(environment.store))
        try environment.throttle.check(request.throttleKey, at: environment.clock.unixSeconds, context: context)
        try await waits.check(context)
        try environment.brake.check(loopKey, at: environment.clock.unixSeconds, context: context)
        try await lease.outlast(environment.client.deadline)
        let metadata = try await environment.resolver.metadata(for: request.authority, context: context)
        let scopes = RefreshScopes(request, stored: token)
        let form = TokenRequestMessage.refreshToken(
            clientID: environment.clientID,
            refreshToken: token.secret,
            scopes: scopes.sent(defaults: environment.configuration.scopesToAdd(for: request.authority, metadata)),
            claims: request.claims,
            clientInfo: request.authority.hasHomeAccounts
        )
        let endpoint = TokenEndpoint(
            client: environment.client,
            authority: request.authority,
            metadata: metadata,
            clock: environment.clock,
            context: context
        )
        do {
            try await lease.outlast(environment.client.deadline)
            let response = try await endpoint.redeemRefreshToken(
                form,
                retries: environment.configuration.retriesUnansweredRefreshes
            ) {
                try await lease.outlast(environment.client.deadline)
            }
            // Until the new refresh token is stored, too. Who lost the lease stores it all the same.
            try? await lease.outlast(environment.client.deadline)
            let grant = try await validated(
                response,
                replacing: token,
                of: snapshot,
                request,
                metadata,
                scopes.requested
            )
            environment.brake.forget(loopKey)
            return try await commit(grant, replacing: token, of: snapshot, for: request, metadata)
        } catch let error as AuthenticationError {
            await waits.note(error)
            environment.throttle.note(error, for: request.throttleKey, at: environment.clock.unixSeconds)
            environment.brake.note(error, for: loopKey, at: environment.clock.unixSeconds)
            throw scopes.explaining(error)
        }
    }

    /// Decides whether the answer is believed. One that is not gives no access token and no claims; but the server has
    /// spent the refresh token, so that the new one is kept.
    private func validated(
        _ response: TokenResponse,
        replacing sent: CachedRefreshToken,
        of snapshot: CredentialSnapshot,
        _ request: SilentRequest,
        _ metadata: AuthorityMetadata,
        _ requestedScopes: [String]
    ) async throws -> TokenGrant {
        let validation = GrantValidation(environment: environment, context: context)
        let now = environment.clock.unixSeconds
        do {
            return try await validation.refreshGrant(
                response,
                request: request,
                snapshot: snapshot,
                metadata: metadata,
                requestedScopes: requestedScopes
            )
        } catch let error as AuthenticationError {
            if let secret = response.refreshToken, secret != sent.secret,
                validation.isAboutThePerson(response, request, snapshot)
            {
                try await keep(secret, replacing: sent, of: snapshot, for: request)
                environment.brake.note(error, for: request.loopKey(snapshot.credentials, sent), at: now)
                environment.brake.move(
                    request.loopKey(snapshot.credentials, sent),
                    to: request.loopKey(snapshot.credentials, CachedRefreshToken(secret: secret, modifiedAt: now))
                )
            }
            throw error
        }
    }

    private func keep(
        _ secret: String,
        replacing sent: CachedRefreshToken,
        of snapshot: CredentialSnapshot,
        for request: SilentRequest
    ) async throws {
        let (now, base) = (environment.clock.unixSeconds, snapshot.credentials)
        _ = try await environment.store.commit(
            request.id,
            fallback: base.replacing(sent, with: secret, at: now)
        ) { current in
            guard let current, current.continues(base, from: sent) else { return current }
            return current.replacing(sent, with: secret, at: now)
        }
    }
}
