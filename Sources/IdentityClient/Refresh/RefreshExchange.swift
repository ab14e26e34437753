// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Logging
import OAuthWire

/// The use of one refresh token: the record that it was read from, and the results so far.
struct RefreshExchange: Sendable {
    /// The record when the refresh token was read.
    let snapshot: CredentialSnapshot
    let sent: CachedRefreshToken
    let scopes: RefreshScopes
    var metadata: ProviderMetadata?
    /// The reason why fetching the keys failed. If it is set, the keys are not requested again after the answer.
    var keysFailure: AuthenticationError?
    var response: TokenResponse?
    /// The refresh token of the answer; `nil` if the answer has none, or names another person.
    var rotatedSecret: String?
    /// The new refresh token, after it has been stored separately.
    var rotated: CachedRefreshToken?
    var grant: TokenGrant?
    /// The access token of the grant.
    var token: CachedAccessToken?

    init(_ request: SilentRequest, _ snapshot: CredentialSnapshot, sent: CachedRefreshToken) {
        self.snapshot = snapshot
        self.sent = sent
        scopes = RefreshScopes(request, stored: sent)
    }
}

// Before the refresh token is sent.
extension RefreshDriver {
    /// - Throws: `.throttled`, or what the server has refused again and again.
    func checkThrottling() async throws {
        guard let exchange else { return }
        let (store, clock) = (environment.store, environment.clock)
        try throttling.checkWait(for: request.throttleKey, at: clock.unixSeconds, context: context)
        let key = request.waitKey(store)
        try await ServerWait.check(key, in: store.cache, at: clock.unixSeconds, context: context)
        let refusals = request.refusalsKey(exchange.snapshot.credentials, exchange.sent)
        try throttling.checkRefusals(of: refusals, at: clock.unixSeconds, context: context)
    }

    func findProvider() async throws {
        let metadata = try await environment.resolver.metadata(for: request.authority, context: context)
        exchange?.metadata = metadata
    }

    /// Fetches the keys before the refresh token is spent, if an ID token is expected.
    func fetchKeys() async {
        guard let exchange, let metadata = exchange.metadata, request.authority.issuesIDTokens,
            exchange.snapshot.credentials.profiles.contains(where: { $0.idToken != nil })
        else { return }
        self.exchange?.keysFailure = await validation.fetchKeys(metadata, of: request.authority)
    }

    /// Sends the refresh token.
    func redeem() async throws -> EndpointOutcome<TokenResponse> {
        guard let exchange, let metadata = exchange.metadata else { throw AuthenticationError.removed(context) }
        let defaults = environment.configuration.scopesToAdd(for: request.authority, metadata)
        let form = TokenRequestMessage.refreshToken(
            clientID: environment.clientID,
            refreshToken: exchange.sent.secret,
            scopes: exchange.scopes.sent(defaults: defaults),
            claims: request.claims,
            clientInfo: request.authority.hasHomeAccounts
        )
        return try await TokenEndpoint(environment, request.authority, metadata, context).redeemRefreshToken(form)
    }
}

// With the answer in hand.
extension RefreshDriver {
    private var validation: GrantValidation { GrantValidation(environment: environment, context: context) }

    func keep(_ response: TokenResponse) {
        guard let exchange else { return }
        self.exchange?.response = response
        self.exchange?.rotatedSecret = response.refreshToken.flatMap { secret in
            secret != exchange.sent.secret && validation.isAboutThePerson(response, request, exchange.snapshot)
                ? secret : nil
        }
    }

    /// Decides whether the answer is accepted.
    func believe() async throws {
        guard let exchange, let response = exchange.response, let metadata = exchange.metadata else { return }
        let grant = try await validation.refreshGrant(
            response,
            request: request,
            snapshot: exchange.snapshot,
            metadata: metadata,
            scopes: exchange.scopes,
            keysFailure: exchange.keysFailure
        ) { await self.willFetch() }
        self.exchange?.grant = grant
    }

    /// Stores the new refresh token separately. If that fails, the token is stored with the rest of the answer.
    func commitRotation() async throws {
        guard let exchange, let secret = exchange.rotatedSecret else { return }
        let (base, sent, now) = (exchange.snapshot.credentials, exchange.sent, environment.clock.unixSeconds)
        do {
            snapshot = try await environment.store.commit(
                request.id,
                .rotate(base, sent: sent, secret: secret),
                at: now
            )
        } catch {
            context.logger.debug("A new refresh token could not be stored by itself")
            throw error
        }
        var token = sent
        token.secret = secret
        token.modifiedAt = now
        self.exchange?.rotated = token
    }

    func commit(replacing base: RefreshMachine.Action.CommitBase) async throws {
        guard let exchange, let grant = exchange.grant else { return }
        let now = environment.clock.unixSeconds
        self.exchange?.token = grant.accessToken(at: now)
        snapshot = try await environment.store.commit(
            request.id,
            .refresh(exchange.snapshot.credentials, sent: exchange.refreshToken(base), grant),
            at: now
        )
    }

    /// Tells the server that the tokens of an answer are no longer needed.
    func revoke() async {
        guard let metadata = exchange?.metadata else { return }
        await Revocation(environment: environment, context: context).revokeUnwanted(
            exchange?.grant?.response.refreshToken,
            request.authority,
            metadata
        )
    }
}

// The memory of errors.
extension RefreshDriver {
    func forgetRefusals() {
        guard let exchange else { return }
        throttling.forgetRefusals(of: request.refusalsKey(exchange.snapshot.credentials, exchange.sent))
    }

    func note(_ error: any Error, of base: RefreshMachine.Action.CommitBase) async {
        guard let exchange, let error = error as? AuthenticationError else { return }
        let credentials = exchange.snapshot.credentials
        let sent = request.refusalsKey(credentials, exchange.sent)
        let stored = request.refusalsKey(credentials, exchange.refreshToken(base))
        if stored != sent { throttling.moveRefusals(from: sent, to: stored) }
        let (key, cache) = (request.waitKey(environment.store), environment.store.cache)
        await ServerWait.note(error, under: key, in: cache, at: environment.clock.unixSeconds)
        throttling.note(error, for: request.throttleKey, stored, at: environment.clock.unixSeconds)
    }

    /// Stores in the record that the server refused the refresh token, or removes a refresh token that the server
    /// declared invalid for good. Does nothing if another refresh token is stored by now.
    ///
    /// A cache that fails here does not hide the refusal from the caller.
    func remember(_ error: any Error) async {
        guard let exchange, let error = error as? AuthenticationError else { return }
        let (sent, key, now) = (exchange.sent, request.refusalKey, environment.clock.unixSeconds)
        let end = exchange.snapshot.credentials.unexpiredToken(for: request.need, at: now)?.expiresOn
        do {
            _ = try await environment.store.update(request.id) { current in
                guard var current, let token = current.refreshToken, token.secret == sent.secret else {
                    return current
                }
                current.refreshToken = error.isOfADeadToken ? nil : token.refused(key, at: now, until: end)
                return current
            }
        } catch {
            context.logger.debug("That a refresh token was refused could not be remembered in the cache")
        }
    }
}

extension RefreshExchange {
    func refreshToken(_ base: RefreshMachine.Action.CommitBase) -> CachedRefreshToken {
        base == .rotated ? rotated ?? sent : sent
    }
}

extension RecordFacts {
    /// - Parameter refusalKey: Distinguishes the requests that the refresh token is good for; empty if there is only
    ///   one.
    package init(_ credentials: AccountCredentials, for need: CredentialRequest, refusalKey: String, at now: Int64) {
        self.init(signInID: credentials.signInID, token: credentials.refreshToken.map { Self.digest($0.secret) })
        if case .valid = credentials.selection(for: need, at: now) { answers = true }
        refusedFor = credentials.refreshToken?.refusedFor(refusalKey, at: now)
        isNewer = credentials.version > AccountCredentials.currentVersion
    }

    package static func digest(_ secret: String) -> String {
        Digest.hexadecimal(of: ["refresh token", secret])
    }
}

extension RefreshRules {
    init(_ request: SilentRequest, _ configuration: ClientConfiguration, leaseDuration: Duration) {
        self.init(leaseDuration: leaseDuration.milliseconds)
        skipsAccessToken = request.need.skipsAccessToken
        isForced = request.isForced
        retries = configuration.compatibility.retriesUnansweredRefreshes
    }
}

extension RefreshLeaseStore {
    init(_ environment: FlowEnvironment, _ id: RecordID) {
        self.init(
            cache: environment.store.cache,
            key: environment.store.key(for: id).lease,
            duration: environment.client.deadline + .seconds(15)
        )
    }
}

extension AuthenticationError {
    /// Whether the provider says that the refresh token will never be valid again.
    var isOfADeadToken: Bool {
        ["bad_token", "user_account_deleted"].contains(serverError?.suberror)
    }

    static func removed(_ context: RequestContext) -> AuthenticationError {
        AuthenticationError(
            .accountRemoved,
            "The account was signed out: sign in interactively.",
            correlationID: context.correlationID
        )
    }

    /// The account is there without its refresh token, because another process learned that the token is invalid for
    /// good.
    static func withoutToken(_ context: RequestContext) -> AuthenticationError {
        AuthenticationError(
            .noTokensFound,
            "The provider takes this account's refresh token no longer: sign in interactively.",
            correlationID: context.correlationID
        )
    }

    /// Any process's refusal of a refresh token counts: the token is not sent again for a while, unless the caller
    /// forces it.
    static func refused(for seconds: Int64, _ context: RequestContext) -> AuthenticationError {
        AuthenticationError(
            .signInExpired,
            """
            The provider has refused this account's refresh token, and is not asked again for \(seconds) s: sign in \
            interactively.
            """,
            retryAfter: .seconds(seconds),
            correlationID: context.correlationID
        )
    }
}
