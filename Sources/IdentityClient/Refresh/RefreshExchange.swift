// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Logging
import OAuthWire
import Synchronization
import SystemSupport

/// The use of one refresh token: the request, the record that the token was read from, and the results so far.
struct RefreshExchange: Sendable {
    let request: SilentRequest
    /// The record when the refresh token was read.
    let snapshot: CredentialSnapshot
    let sent: CachedRefreshToken
    var metadata: ProviderMetadata?
    /// The reason why fetching the keys failed. If it is set, the keys are not requested again after the answer.
    var keysFailure: AuthenticationError?
    var response: TokenResponse?
    /// The refresh token of the answer; `nil` if the answer has none, or names another person.
    var rotatedSecret: String?
    var grant: TokenGrant?

    init(_ request: SilentRequest, _ snapshot: CredentialSnapshot, sent: CachedRefreshToken) {
        self.request = request
        self.snapshot = snapshot
        self.sent = sent
    }
}

// The scopes: those that the request names, and those that its answer is stored under.
extension RefreshExchange {
    /// Whether the request names scopes.
    ///
    /// A refresh that names no scopes yields the granted ones. So it names the requested scopes only if the grant does
    /// not answer them: if one of them was neither granted nor declined, or if none of them was granted. It does not
    /// name a declined scope again, because the server would refuse it each time. A refresh at Microsoft always names
    /// the requested scopes, because a refresh token there is good for any API.
    /// - SeeAlso: [RFC 6749 §6](https://www.rfc-editor.org/rfc/rfc6749#section-6)
    private var namesScopes: Bool {
        let (rule, wanted) = (ScopeRule(ignoresCase: false), request.need.matchableScopes)
        let known = rule.matchable(sent.scopes)
        let isGranted = wanted.isSubset(of: known.union(rule.matchable(sent.declinedScopes)))
        let isUseful = wanted.isEmpty || !wanted.isDisjoint(with: known)
        return request.authority.isMicrosoft || !isGranted || !isUseful
    }

    /// The granted scopes if the answer does not state them; `nil` if they are the requested ones.
    var impliedScopes: [String]? { namesScopes || sent.scopes.isEmpty ? nil : sent.scopes }

    /// Returns the scopes that the request names; empty if it names none.
    ///
    /// - Parameter defaults: The scopes that are added to any request for this authority.
    func sentScopes(defaults: [String]) -> [String] {
        namesScopes ? request.scopes.appendingMissing(defaults) : []
    }

    /// Turns the refusal of a scope beyond the grant into a request for the person's consent, and that of a family's
    /// refresh token, which another program obtained, into one for a sign-in.
    func explaining(_ error: AuthenticationError) -> AuthenticationError {
        if sent.familyID != nil, error.serverError?.suberror == "client_mismatch" {
            return error.saying(
                .noTokensFound,
                "The refresh token of Microsoft's other programs does not serve this client: sign in interactively."
            )
        }
        guard error.code == .invalidScope, error.serverError?.error == "invalid_scope",
            !request.authority.isMicrosoft, namesScopes
        else { return error }
        return error.saying(.consentRequired, "These scopes go beyond what was granted: sign in interactively.")
    }
}

// The request.
extension RefreshDriver {
    private var validation: GrantValidation { GrantValidation(environment: environment, context: context) }

    /// - Throws: `.throttled`, or what the server has refused again and again.
    func checkThrottling() async throws {
        guard let exchange else { return }
        let (store, now) = (environment.store, environment.clock.unixSeconds)
        try throttling.checkWait(for: request.throttleKey, at: now, context: context)
        try await ServerWait.check(request.waitKey(store), in: store.cache, at: now, context: context)
        try throttling.checkRefusals(of: exchange.refusalsKey(.sent), at: now, context: context)
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
    func send() async throws -> RefreshMachine.Event {
        guard let exchange, let metadata = exchange.metadata else { throw AuthenticationError.removed(context) }
        let defaults = environment.configuration.scopesToAdd(for: request.authority, metadata)
        let form = TokenRequestMessage.refreshToken(
            clientID: environment.clientID,
            refreshToken: exchange.sent.secret,
            scopes: exchange.sentScopes(defaults: defaults),
            claims: request.claims,
            clientInfo: request.authority.hasHomeAccounts
        )
        let key = exchange.snapshot.credentials.dpopKey
        guard key == nil || key?.keyID == request.need.binding?.keyID else {
            throw AuthenticationError.removed(context)
        }
        try exchange.snapshot.credentials.localServers.check(metadata.tokenEndpoint)
        let endpoint = TokenEndpoint(environment, request.authority, metadata, context, provenBy: key)
        do {
            let response = try await endpoint.redeemRefreshToken(form + (request.need.binding?.parameters ?? []))
            let rotated = response.refreshToken.flatMap { secret in
                secret != exchange.sent.secret && validation.isAboutThePerson(response, exchange) ? secret : nil
            }
            self.exchange?.response = response
            self.exchange?.rotatedSecret = rotated
            return .answered(rotated: rotated.map(RecordFacts.digest))
        } catch let lost as TokenEndpoint.LostAnswer {
            context.logger.debug(
                "The answer to a refresh is not clear",
                metadata: ["identity.error": "\(lost.error.shortDescription)"]
            )
            return .ambiguous(fault(lost.error), allowsRetry: lost.allowsRetry)
        } catch let error as AuthenticationError {
            throw exchange.explaining(error)
        }
    }
}

// The answer.
extension RefreshDriver {
    /// Decides whether the answer is accepted.
    func believe() async throws {
        guard let exchange, let response = exchange.response, let metadata = exchange.metadata else { return }
        let grant = try await validation.refreshGrant(response, exchange, metadata) { await self.willFetch() }
        self.exchange?.grant = grant
    }

    /// Stores the new refresh token separately. If that fails, the token is stored with the rest of the answer.
    func commitRotation() async throws {
        guard let exchange, let secret = exchange.rotatedSecret else { return }
        beginWrite()
        let write = AccountWrite.rotate(exchange.snapshot.credentials, sent: exchange.sent, secret: secret)
        do {
            snapshot = try await environment.store.commit(request.id, write, at: environment.clock.unixSeconds)
        } catch {
            context.logger.debug("A new refresh token could not be stored by itself")
            throw error
        }
    }

    func commit(replacing base: RefreshMachine.Action.CommitBase) async throws {
        guard let exchange, let grant = exchange.grant else { return }
        beginWrite()
        let now = environment.clock.unixSeconds
        token = grant.accessToken(at: now)
        let sent = exchange.refreshToken(base)
        let write = AccountWrite.refresh(exchange.snapshot.credentials, sent: sent, grant)
        snapshot = try await environment.store.commit(request.id, write, at: now)
    }

    /// Tells the server that the tokens of an answer are no longer needed.
    func revoke() async {
        guard let exchange, let metadata = exchange.metadata else { return }
        await Revocation(environment: environment, context: context)
            .revokeUnwanted(
                exchange.grant?.response.refreshToken,
                request.authority,
                metadata,
                provenBy: exchange.snapshot.credentials.dpopKey
            )
    }
}

// The memory of errors.
extension RefreshDriver {
    func note(_ error: any Error, of base: RefreshMachine.Action.CommitBase) async {
        guard let exchange, let error = error as? AuthenticationError else { return }
        let (store, now) = (environment.store, environment.clock.unixSeconds)
        let refusals = exchange.refusalsKey(base)
        throttling.moveRefusals(from: exchange.refusalsKey(.sent), to: refusals)
        await ServerWait.note(error, under: request.waitKey(store), in: store.cache, at: now)
        throttling.note(error, for: request.throttleKey, refusals, at: now)
    }

    /// Stores in the record that the server refused the refresh token or that it is not for this client, or removes a
    /// refresh token that the server declared invalid for good. Does nothing if another refresh token is stored by now.
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
                if error.isOfAnotherFamily {
                    current.refreshToken?.familyID = nil
                } else {
                    current.refreshToken = error.isOfADeadToken ? nil : token.refused(key, at: now, until: end)
                }
                return current
            }
        } catch {
            context.logger.debug("That a refresh token was refused could not be remembered in the cache")
        }
    }
}

extension RefreshExchange {
    /// Returns the refresh token that a commit replaces.
    func refreshToken(_ base: RefreshMachine.Action.CommitBase) -> CachedRefreshToken {
        guard base == .rotated, let rotatedSecret else { return sent }
        var token = sent
        token.secret = rotatedSecret
        return token
    }

    /// The name under which the refusals of the request with its sign-in and refresh token are counted.
    func refusalsKey(_ base: RefreshMachine.Action.CommitBase) -> String {
        let parts = [request.throttleKey, request.claims ?? "", snapshot.credentials.signInID]
        return Digest.hexadecimal(of: parts + [refreshToken(base).secret])
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

/// The means of writing the answer to one refresh, kept ready from before its request.
final class RefreshReservation: Sendable {
    /// The bytes by which a record may become longer: another access token and ID token of the largest usual size.
    private static let growth = 16 << 10

    private let cache: (any TokenCacheReservation)?
    private let spares: Mutex<SpareDescriptors?>

    /// Reserves the write of the record that `snapshot` is of.
    ///
    /// - Throws: errors of the family `.cache`; `CancellationError`.
    init(for snapshot: CredentialSnapshot, in store: CredentialStore) async throws {
        let size = snapshot.record?.bytes.count ?? snapshot.credentials.encoded().count
        cache = try await store.wrapping { try await store.cache.reserve(size + Self.growth, for: snapshot.key) }
        do {
            spares = Mutex(try SpareDescriptors())
        } catch {
            await cache?.release()
            throw AuthenticationError(error)
        }
    }

    /// Closes the descriptors that were kept for the write.
    func freeDescriptors() {
        spares.withLock { $0 = nil }
    }

    /// Gives everything back that no write has used.
    func release() async {
        freeDescriptors()
        await cache?.release()
    }
}

extension AuthenticationError {
    /// The same failure of a cache, found before a refresh token was sent.
    func beforeARefresh(_ context: RequestContext) -> AuthenticationError {
        context.error(
            code,
            "No new token was requested, because it could not be stored. \(message)",
            underlyingError: self,
            timestamp: timestamp
        )
    }
}
