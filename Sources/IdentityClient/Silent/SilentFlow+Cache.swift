// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

// The tokens of the cache that are returned because no new one can be had, or may be asked for.
extension SilentFlow {
    /// Returns the token of a call that may not use the network.
    ///
    /// - Parameter isRenewable: Whether a call with the network could get a new token.
    func fromCache(
        _ snapshot: CredentialSnapshot,
        _ need: CredentialRequest,
        _ parameters: SilentParameters,
        isRenewable: Bool
    ) throws -> AuthenticationResult {
        guard !need.skipsAccessToken else {
            throw AuthenticationError(
                .invalidArgument,
                "A call that may use the cache only can neither force a refresh nor pass claims on."
            )
        }
        let now = environment.clock.unixSeconds
        let token =
            snapshot.credentials.unexpiredToken(for: need, at: now)
            ?? (parameters.allowsExpiredToken ? snapshot.credentials.expiredToken(for: need, at: now) : nil)
        guard let token else {
            throw isRenewable ? Self.networkNotAllowed(parameters) : Self.nothingToRenewWith(parameters)
        }
        let acquired = AcquiredToken(
            snapshot: snapshot,
            token: token,
            source: .cache,
            expiredFor: token.expiresOn > now ? nil : now - token.expiresOn
        )
        return AuthenticationResult(acquired, requested: parameters.scopes, rule: environment.scopeRule)
    }

    /// A token of the cache in place of one that could not be renewed: a token that is still alive, or in an outage an
    /// expired token that the program accepts. `nil` if the caller refuses cached tokens.
    func substitute(
        after error: AuthenticationError,
        of snapshot: CredentialSnapshot,
        _ need: CredentialRequest,
        _ parameters: SilentParameters
    ) -> AcquiredToken? {
        guard !need.skipsAccessToken, error.code != .accountRemoved else { return nil }
        let (credentials, now) = (snapshot.credentials, environment.clock.unixSeconds)
        if let token = credentials.unexpiredToken(for: need, at: now) {
            return AcquiredToken(snapshot: snapshot, token: token, source: .cache)
        }
        guard error.isOutage else { return nil }
        let isExtensible = environment.configuration.allowsExtendedLifetime
        let extended = isExtensible ? credentials.extendedToken(for: need, at: now) : nil
        let expired = parameters.allowsExpiredToken ? credentials.expiredToken(for: need, at: now) : nil
        guard let token = extended ?? expired else { return nil }
        return AcquiredToken(
            snapshot: snapshot,
            token: token,
            source: .cache,
            expiredFor: now - token.expiresOn,
            isInExtendedLifetime: extended != nil
        )
    }

    /// The substitute where a renewal has just failed: some servers count how often they are asked too early, and one
    /// that is silent would hold up each call.
    func substitute(
        of snapshot: CredentialSnapshot,
        _ need: CredentialRequest,
        _ parameters: SilentParameters
    ) -> AcquiredToken? {
        refresher.throttling.failedRenewal(snapshot.key, at: environment.clock.unixSeconds)
            .flatMap { substitute(after: $0, of: snapshot, need, parameters) }
    }

    static func networkNotAllowed(_ parameters: SilentParameters) -> AuthenticationError {
        AuthenticationError(
            .networkNotAllowed,
            "The cache has no token that is still valid, and this call may not ask the provider. Call again with the network.",
            correlationID: parameters.correlationID
        )
    }
}

// A call's own time limit.
extension SilentFlow {
    /// - Throws: `.cacheBusy` when the cache has not answered by then.
    @inline(never)  // a hit sets up nothing for it
    func snapshot(_ id: RecordID, _ parameters: SilentParameters) async throws -> CredentialSnapshot? {
        let error = AuthenticationError(
            .cacheBusy,
            "The token cache did not answer within the call's time limit. Try again, or allow more time."
        )
        return try await bounded(until: parameters.deadline, timingOut: error) { [store = environment.store] in
            try await store.snapshot(for: id)
        }
    }

    /// Runs `work` until its end, or until `end`, and then throws `error`. A refresh that `work` waits for goes on.
    func bounded<Value: Sendable>(
        until end: CallDeadline?,
        timingOut error: @autoclosure () -> AuthenticationError,
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        guard let end else { return try await work() }
        do {
            return try await withDeadline(end.time - .now, work)
        } catch is DeadlineExceeded {
            throw error()
        }
    }

    /// - Returns: `.cacheBusy` while another process refreshes, else `.networkTimedOut`.
    func timedOut(_ parameters: SilentParameters, _ id: RecordID, _ context: RequestContext) -> AuthenticationError {
        let seconds = parameters.timeout.map { $0.components.seconds + ($0.components.attoseconds > 0 ? 1 : 0) } ?? 0
        let waits = refresher.waitsForAnotherProcess(id)
        return AuthenticationError(
            waits ? .cacheBusy : .networkTimedOut,
            waits
                ? "Another program was refreshing this account's token and did not end within \(seconds) s. "
                    + "Try again, or end that program if it hangs; no new sign-in is needed."
                : "The provider did not answer within \(seconds) s. Try again; no new sign-in is needed.",
            correlationID: context.correlationID,
            underlyingError: DeadlineExceeded()
        )
    }
}

/// The end of a call's own time limit, at most ten years from now.
///
/// A class, because the compiler does not know the size of an instant, which would cost each hit more.
final class CallDeadline: Sendable {
    let time: ContinuousClock.Instant

    /// - Throws: `.invalidArgument` for a limit that is not above zero.
    init(after limit: Duration) throws {
        guard limit > .zero else {
            throw AuthenticationError(.invalidArgument, "The call's time limit is not above zero.")
        }
        time = .now + min(limit, .seconds(JSONObject.maximumDuration))
    }
}
