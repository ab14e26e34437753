// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Redeems the refresh token, once for all processes that share it, and stores what it yields.
///
/// The order is: take the lease, read again, find the provider, redeem, commit, give the lease back. The refresh token
/// decides the commit, not the lease. Whoever waits for another process's refresh needs nothing of the provider. What
/// could not be written keeps the lease.
struct RefreshFlow: Sendable {
    let environment: FlowEnvironment
    let context: RequestContext

    func run(_ request: SilentRequest) async throws -> AcquiredToken {
        var found: AcquiredToken?
        guard let lease = try await lease(request, unlessSettledBy: &found) else {
            guard let found else { throw AuthenticationError.removed(context) }
            return found
        }
        // Whoever has the lease almost always sends a request; what is to be read before that takes as long.
        (environment.client.transport as? any PreparableTransport)?.prepare()
        let outcome: Result<AcquiredToken, any Error>
        do { outcome = .success(try await refresh(request, lease)) } catch { outcome = .failure(error) }
        await environment.keptLeases.giveBack(lease, of: request.id)
        return try outcome.get()
    }

    /// The lease that this process has kept, or a new one; `nil` when another process did the work.
    private func lease(
        _ request: SilentRequest,
        unlessSettledBy found: inout AcquiredToken?
    ) async throws -> RefreshLeaseHolder.Held? {
        if let kept = await environment.keptLeases.take(request.id) {
            // One that cannot be renewed, on a full disk, counts until it runs out.
            let isHeld = (try? await kept.isRenewed(toOutlast: environment.client.deadline)) ?? true
            if isHeld { return kept }
        }
        let holder = RefreshLeaseHolder(
            cache: environment.store.cache,
            key: environment.store.key(for: request.id).lease,
            duration: environment.client.deadline + .seconds(15)
        )
        return try await environment.store.wrapping {
            try await holder.acquire {
                found = try await environment.settled(request)
                return found != nil
            }
        }
    }

    /// Under the lease: reads again, and redeems what is stored now. Who finds another refresh token after a refusal
    /// tries once more with that one.
    private func refresh(
        _ request: SilentRequest,
        _ lease: RefreshLeaseHolder.Held
    ) async throws -> AcquiredToken {
        var refused: (token: String, error: AuthenticationError)?
        var isSuperseded = false
        while true {
            let snapshot: CredentialSnapshot?
            do {
                snapshot = try await environment.store.snapshot(for: request.id)
            } catch { throw refused?.error ?? error }
            guard let snapshot else { throw AuthenticationError.removed(context) }
            let selection = snapshot.credentials.selection(for: request.need, at: environment.clock.unixSeconds)
            if case .valid(let token) = selection {
                return AcquiredToken(snapshot: snapshot, token: token, source: .cache)
            }
            guard let token = snapshot.credentials.refreshToken else {
                throw refused?.error ?? withoutToken
            }
            if let refused, refused.token == token.secret { throw refused.error }
            try snapshot.credentials.checkMayBeRewritten()
            try checkIsNotRefused(token, for: request)
            let attempt = RefreshAttempt(
                environment: environment,
                context: context,
                request: request,
                snapshot: snapshot,
                sent: token
            )
            do {
                if let acquired = try await attempt.run(under: lease) { return acquired }
                // Somebody has signed in anew meanwhile: what is asked for is asked of that sign-in.
                guard !isSuperseded else { throw CredentialStore.busy }
                isSuperseded = true
            } catch let error as AuthenticationError
                where .interactionRequired ~= error.code && error.code != .accountRemoved
            {
                guard refused == nil else { throw error }
                refused = (token.secret, error)
            }
        }
    }

    /// A refresh token that any process was refused with is not sent again for a while, unless the caller forces it.
    ///
    /// - Throws: `.signInExpired`.
    func checkIsNotRefused(_ token: CachedRefreshToken, for request: SilentRequest) throws {
        let now = environment.clock.unixSeconds
        guard !request.isForced, let seconds = token.refusedFor(request.refusalKey, at: now) else { return }
        throw AuthenticationError(
            .signInExpired,
            """
            The provider has refused this account's refresh token, and is not asked again for \(seconds) s: sign in \
            interactively.
            """,
            retryAfter: .seconds(seconds),
            correlationID: context.correlationID
        )
    }

    /// The account is there, and its refresh token no more: another process was told that it is dead.
    private var withoutToken: AuthenticationError {
        AuthenticationError(
            .noTokensFound,
            "The provider takes this account's refresh token no longer: sign in interactively.",
            correlationID: context.correlationID
        )
    }
}

extension FlowEnvironment {
    /// What another process has put there meanwhile, when it answers the request.
    func settled(_ request: SilentRequest) async throws -> AcquiredToken? {
        guard !request.need.skipsAccessToken, let snapshot = try await store.snapshot(for: request.id),
            case .valid(let token) = snapshot.credentials.selection(for: request.need, at: clock.unixSeconds)
        else { return nil }
        return AcquiredToken(snapshot: snapshot, token: token, source: .cache)
    }
}

extension AuthenticationError {
    static func removed(_ context: RequestContext) -> AuthenticationError {
        AuthenticationError(
            .accountRemoved,
            "The account was signed out: sign in interactively.",
            correlationID: context.correlationID
        )
    }
}
