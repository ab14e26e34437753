// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Logging
import OAuthWire
import SystemSupport

/// The flow that acquires a token from the cache if possible, otherwise by a refresh.
struct SilentFlow: Sendable {
    let refresher: TokenRefresher
    /// The refresher's. A hit reads it several times, and counts one reference for all of them.
    let environment: FlowEnvironment

    init(refresher: TokenRefresher) {
        self.refresher = refresher
        environment = refresher.environment
    }

    func run(_ parameters: SilentParameters) async throws -> AuthenticationResult {
        if let timeout = parameters.timeout, parameters.deadline == nil {
            return try await run(parameters, within: timeout)
        }
        try parameters.authority?.checkFits(
            environment.configuration.authority,
            inAnyCloud: environment.clouds.areSeveral
        )
        let id = RecordID(
            partition: parameters.authority?.partition ?? environment.partition,
            accountID: parameters.account.id.rawValue
        )
        let validity = try parameters.validitySeconds
        var stored = stuck(id, parameters, validity)
        if stored == nil {
            // Without a time limit directly, because another closure would cost a hit more.
            let isLimited = parameters.deadline != nil
            stored = try await isLimited ? snapshot(id, parameters) : environment.store.snapshot(for: id)
        }
        guard let snapshot = stored else { return try await withoutRecord(parameters, id, validity) }
        let need = need(parameters, validity)  // after the wait, which would cost a copy
        let selection = snapshot.selection(for: need, at: environment.clock.unixSeconds)
        if case .valid(let token) = selection {
            if token.declinesNothing, let result = snapshot.result(for: token) { return result }
            let acquired = AcquiredToken(snapshot: snapshot, token: token, source: .cache)
            return AuthenticationResult(acquired, requested: parameters.scopes, rule: environment.scopeRule)
        }
        return try await renewing(selection, of: snapshot, id, validity, parameters)
    }

    @inline(never)  // a hit sets up nothing for it
    private func run(_ parameters: SilentParameters, within timeout: Duration) async throws -> AuthenticationResult {
        var limited = parameters
        limited.deadline = try CallDeadline(after: timeout)
        return try await run(limited)
    }

    /// Acquires a token where the cache has none that is good for long enough.
    @inline(never)  // a hit sets up nothing for it
    private func renewing(
        _ selection: CredentialSelection,
        of snapshot: CredentialSnapshot,
        _ id: RecordID,
        _ validity: Int64,
        _ parameters: SilentParameters
    ) async throws -> AuthenticationResult {
        let need = need(parameters, validity)
        let acquired: AcquiredToken
        switch selection {
        case .valid(let token), .stale(let token):  // a valid one is returned before
            if !parameters.usesCacheOnly,
                refresher.throttling.mayRenew(snapshot.key, at: environment.clock.unixSeconds)
            {
                refreshInBackground(try request(parameters, id, need), key: snapshot.key, parameters)
            }
            acquired = AcquiredToken(snapshot: snapshot, token: token, source: .cache)
        case .refreshable(let token):
            if parameters.usesCacheOnly { return try fromCache(snapshot, need, parameters, isRenewable: true) }
            let request = try request(parameters, id, need)
            acquired = try await refresh(token, request, snapshot, parameters)
        case .unavailable:
            let hasBroker = environment.configuration.broker.broker != nil
            if parameters.usesCacheOnly { return try fromCache(snapshot, need, parameters, isRenewable: hasBroker) }
            guard hasBroker else { throw Self.nothingToRenewWith(parameters) }
            let request = try request(parameters, id, need)
            acquired = try await refresh(nil, request, snapshot, parameters)
        }
        return AuthenticationResult(acquired, requested: parameters.scopes, rule: environment.scopeRule)
    }

    /// Acquires a token for an account that is not signed in here, but may be with the broker.
    @inline(never)  // a hit sets up nothing for it
    private func withoutRecord(
        _ parameters: SilentParameters,
        _ id: RecordID,
        _ validity: Int64
    ) async throws -> AuthenticationResult {
        guard environment.configuration.broker.broker != nil else { throw Self.noTokens(parameters) }
        if parameters.usesCacheOnly { throw Self.networkNotAllowed(parameters) }
        let request = try request(parameters, id, need(parameters, validity))
        let acquired = try await refresh(nil, request, nil, parameters)
        return AuthenticationResult(acquired, requested: parameters.scopes, rule: environment.scopeRule)
    }

    @inline(__always)  // a hit would copy the result otherwise
    func need(_ parameters: SilentParameters, _ validity: Int64) -> CredentialRequest {
        let tenant =
            environment.hasTenants
            ? (parameters.authority ?? environment.configuration.authority)
                .effectiveTenant(for: parameters.account.id) : nil
        var need = CredentialRequest(
            scopes: parameters.scopes,
            tenant: tenant,
            skipsAccessToken: parameters.forcesRefresh || parameters.claims != nil,
            leeway: environment.expirationLeeway,
            minimumValidity: validity,
            rule: environment.scopeRule,
            binding: parameters.binding,
            parameterTag: environment.parameterTag
        )
        need.refusedToken = parameters.refusedToken
        return need
    }

    /// Returns the credentials in memory of an account whose write has failed, if they answer the caller.
    private func stuck(
        _ id: RecordID,
        _ parameters: SilentParameters,
        _ validity: Int64
    ) -> CredentialSnapshot? {
        guard let stuck = environment.store.stuck(id) else { return nil }
        switch stuck.selection(for: need(parameters, validity), at: environment.clock.unixSeconds) {
        case .valid, .stale: return stuck
        case .refreshable, .unavailable: return nil
        }
    }

    private func request(
        _ parameters: SilentParameters,
        _ id: RecordID,
        _ need: CredentialRequest
    ) throws -> SilentRequest {
        SilentRequest(
            id: id,
            authority: (parameters.authority ?? environment.configuration.authority)
                .resolved(for: parameters.account.id),
            scopes: try parameters.scopes.checked(),
            claims: try ClaimsParameter.merged(parameters.claims, environment.configuration.clientCapabilities),
            isForced: parameters.forcesRefresh,
            need: need
        )
    }

    /// Waits for the refresh, or for the broker. If it fails, a substitute from the cache is returned if there is one.
    @inline(never)  // a hit sets up nothing for it
    private func refresh(
        _ token: CachedRefreshToken?,
        _ request: SilentRequest,
        _ snapshot: CredentialSnapshot?,
        _ parameters: SilentParameters
    ) async throws -> AcquiredToken {
        if let snapshot, let token = substitute(of: snapshot, request.need, parameters) { return token }
        let context = environment.context(parameters.correlationID)
        do {
            if let token, environment.configuration.broker.broker == nil {
                try refresher.checkIsNotRefused(token, for: request, context)
            }
            let end = parameters.deadline
            return try await bounded(until: end, timingOut: timedOut(parameters, request.id, context)) { [self] in
                try await refresher.queue.run(
                    request,
                    of: snapshot?.key ?? environment.store.key(for: request.id),
                    isForced: request.isForced,
                    joined: environment.countSharedRefresh
                ) { [self] in try await renewed(request, token, for: parameters.account, before: snapshot, context) }
            }
        } catch let error as AuthenticationError {
            if .interactionRequired ~= error.code, let refused = request.need.refusedToken {
                await environment.store.forget(accessToken: refused, of: request.id)
            }
            guard let snapshot, let substitute = substitute(after: error, of: snapshot, request.need, parameters) else {
                throw error
            }
            // A time limit of the caller's own says nothing about the server.
            if Self.mayHaveBurdened(error.code), !(error.underlyingError is DeadlineExceeded) {
                refresher.throttling.renewalFailed(snapshot.key, error, at: environment.clock.unixSeconds)
            }
            context.logger.debug(
                substitute.expiredFor == nil
                    ? "A refresh failed; the token in the cache is still good"
                    : "A refresh failed; an expired token of the cache is handed out",
                metadata: ["identity.error": "\(error.shortDescription)"]
            )
            return substitute
        }
    }

    /// Returns whether the server was asked or waited for. Without a connection, or with a locked cache, the next call
    /// may try.
    private static func mayHaveBurdened(_ code: AuthenticationError.Code) -> Bool {
        ![.nameNotResolved, .connectionFailed, .proxyFailed].contains(code) && !(.cache ~= code)
    }

    private func refreshInBackground(_ request: SilentRequest, key: CacheKey, _ parameters: SilentParameters) {
        let context = environment.context(parameters.correlationID)
        refresher.queue.start(request, of: key) { [refresher] in
            try await refresher.refresh(request, context)
        } failed: { error in
            guard let error = error as? AuthenticationError else { return }
            refresher.throttling.renewalFailed(key, error, at: environment.clock.unixSeconds)
            context.logger.debug(
                "A background refresh failed; the token in the cache is still good",
                metadata: ["identity.error": "\(error.shortDescription)"]
            )
        }
    }

    /// The error for a signed-in account without a refresh token, whose access token is not sufficient or was refused
    /// by a resource.
    static func nothingToRenewWith(_ parameters: SilentParameters) -> AuthenticationError {
        AuthenticationError(
            .noTokensFound,
            "Nothing is kept that would give this account a new token: sign in interactively, for this account.",
            correlationID: parameters.correlationID
        )
    }

    private static func noTokens(_ parameters: SilentParameters) -> AuthenticationError {
        AuthenticationError(
            .noTokensFound,
            "This client has no sign-in for the account; another client of the group may have one. Sign in interactively, for this account.",
            correlationID: parameters.correlationID
        )
    }
}

extension SilentParameters {
    /// The minimum validity in whole seconds, rounded up. Ten years are as good as more.
    var validitySeconds: Int64 {
        get throws {
            guard minimumValidity != .zero else { return 0 }  // no division on the way of a hit
            guard minimumValidity > .zero else {
                throw AuthenticationError(.invalidArgument, "The minimum validity of the token is negative.")
            }
            let parts = min(minimumValidity, .seconds(JSONObject.maximumDuration)).components
            return parts.seconds + (parts.attoseconds > 0 ? 1 : 0)
        }
    }
}

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
        let isExtensible = environment.configuration.entra.allowsExtendedLifetime
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
        return context.error(
            waits ? .cacheBusy : .networkTimedOut,
            waits
                ? "Another program was refreshing this account's token and did not end within \(seconds) s. "
                    + "Try again, or end that program if it hangs; no new sign-in is needed."
                : "The provider did not answer within \(seconds) s. Try again; no new sign-in is needed.",
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
