// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityTelemetry
import Logging

/// The environment of every flow: the configuration, and the parts that are created from it once.
final class FlowEnvironment: Sendable {
    let configuration: ClientConfiguration
    let store: CredentialStore
    let accountsInUse: AccountsInUseRecord
    let possessionKeys: PossessionKeys
    let client: EndpointClient
    let resolver: AuthorityResolver
    let verifier: IDTokenVerifier
    let clouds: Clouds
    /// Of the configured authority, computed once.
    let partition: String
    let hasTenants: Bool
    let scopeRule: ScopeRule
    let expirationLeeway: Int64
    /// The program's parameters of every request for tokens, in order.
    let tokenParameters: [(String, String)]
    /// Tells tokens apart that were requested with other such parameters; 0 for none.
    let parameterTag: UInt64
    /// Whether metrics or traces are wanted.
    let isMeasured: Bool
    /// Whether a silent call is measured, or finds its account's cloud first. A hit asks only this.
    let isMoreThanAHit: Bool

    init(_ configuration: ClientConfiguration) {
        self.configuration = configuration
        isMeasured = configuration.telemetry != nil
        clouds = Clouds(
            of: configuration.authority,
            areSeveral: configuration.isInstanceAware,
            knownHosts: configuration.knownHosts
        )
        isMoreThanAHit = isMeasured || clouds.areSeveral
        partition = configuration.authority.partition
        hasTenants = configuration.authority.hasTenants
        scopeRule = configuration.authority.scopeRule
        expirationLeeway = configuration.expirationLeeway.components.seconds
        tokenParameters = configuration.extraTokenParameters.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        parameterTag = Digest.tag(of: tokenParameters.flatMap { [$0.0, $0.1] })
        client = EndpointClient(
            transport: configuration.transport,
            deadline: configuration.requestTimeout,
            extraFields: configuration.extraHeaderFields,
            credentials: configuration.clientSecret.map {
                ClientCredentials(clientID: configuration.clientID.rawValue, secret: $0)
            },
            capture: configuration.capture,
            telemetry: configuration.telemetry
        )
        let cache: any TokenCache =
            configuration.telemetry.map { MeasuredTokenCache(base: configuration.cache, telemetry: $0) }
            ?? configuration.cache
        store = CredentialStore(
            cache: cache,
            group: configuration.cacheGroup ?? .application(configuration.clientID),
            clientID: configuration.clientID.rawValue
        )
        possessionKeys = PossessionKeys(store: store)
        accountsInUse = AccountsInUseRecord(store: store, scope: configuration.authority.accountScope)
        let documents = DiscoveryCache(
            client: client,
            cache: cache,
            group: store.group,
            clock: configuration.clock
        )
        resolver = AuthorityResolver(documents: documents, knownHosts: configuration.knownHosts)
        verifier = IDTokenVerifier(
            resolver: resolver,
            clock: configuration.clock,
            allowsUnpublishedKeys: configuration.compatibility.allowsUnpublishedKeys
        )
    }

    var clientID: String { configuration.clientID.rawValue }
    var clock: any WallClock { configuration.clock }

    /// The program's data of an account.
    func userData(of account: Account) -> UserDataRecords {
        UserDataRecords(store: store, scope: clouds.authority(of: account).accountScope)
    }

    func context(_ correlationID: UUID?) -> RequestContext {
        let logger = configuration.logger
        return RequestContext(
            correlationID: correlationID,
            logger: configuration.capture?.logger(beside: logger ?? Logger.current) ?? logger
        )
    }
}

extension FlowEnvironment {
    /// Opens an address in the browser. A program's own launcher may throw any error.
    ///
    /// - Throws: The launcher's error, or `advice` if that is not an ``AuthenticationError``.
    func open(_ url: URL, elseSaying advice: String, _ context: RequestContext) async throws {
        do {
            try await configuration.browser.open(url)
        } catch {
            if error.isOfACancelledTask { throw error }
            throw error as? AuthenticationError
                ?? AuthenticationError(
                    .browserUnavailable,
                    advice,
                    correlationID: context.correlationID,
                    underlyingError: error
                )
        }
    }
}
