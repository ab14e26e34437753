// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Logging

/// What every flow works with: the configuration, and the parts that are made from it once.
final class FlowEnvironment: Sendable {
    let configuration: PublicClientApplication.Configuration
    let store: CredentialStore
    let accountsInUse: AccountsInUseRecord
    let userData: UserDataRecords
    let client: EndpointClient
    let resolver: AuthorityResolver
    let verifier: IDTokenVerifier
    let refreshes = RefreshQueue<RefreshWish, AcquiredToken>()
    let throttle = Throttle()
    let brake = LoopBrake()
    let renewals = EarlyRenewals()
    let keptLeases: KeptLeases
    /// Of the configured authority, computed once.
    let partition: String
    let hasTenants: Bool
    let scopeRule: ScopeRule
    let expirationLeeway: Int64

    init(_ configuration: PublicClientApplication.Configuration) {
        self.configuration = configuration
        partition = configuration.authority.partition
        hasTenants = configuration.authority.hasTenants
        scopeRule = configuration.authority.scopeRule
        expirationLeeway = configuration.expirationLeeway.components.seconds
        client = EndpointClient(
            transport: configuration.transport,
            deadline: configuration.requestTimeout,
            extraFields: configuration.extraHeaderFields,
            credentials: configuration.clientSecret.map {
                ClientCredentials(clientID: configuration.clientID.rawValue, secret: $0)
            }
        )
        store = CredentialStore(
            cache: configuration.cache,
            group: configuration.cacheGroup ?? .application(configuration.clientID),
            clientID: configuration.clientID.rawValue
        )
        keptLeases = KeptLeases(store: store, request: client.deadline)
        userData = UserDataRecords(store: store, scope: configuration.authority.accountScope)
        accountsInUse = AccountsInUseRecord(store: store, scope: configuration.authority.accountScope)
        let documents = ProviderDocuments(
            client: client,
            cache: configuration.cache,
            group: store.group,
            clock: configuration.clock
        )
        resolver = AuthorityResolver(documents: documents, knownHosts: configuration.knownHosts)
        verifier = IDTokenVerifier(
            resolver: resolver,
            clock: configuration.clock,
            allowsUnpublishedKeys: configuration.allowsUnpublishedKeys
        )
    }

    var clientID: String { configuration.clientID.rawValue }
    var clock: any WallClock { configuration.clock }

    func context(_ correlationID: UUID?) -> RequestContext {
        RequestContext(correlationID: correlationID, logger: configuration.logger)
    }
}

/// An access token that was had, and where from.
struct AcquiredToken: Sendable {
    let snapshot: CredentialSnapshot
    let token: CachedAccessToken
    let source: AuthenticationResult.Source
    var correlationID: UUID?
}

extension AuthenticationResult {
    init(_ acquired: AcquiredToken, requested: Set<Scope>, rule: ScopeRule) {
        let (token, snapshot) = (acquired.token, acquired.snapshot)
        if acquired.source == .cache, token.declinesNothing, let result = snapshot.result(for: token) {
            self = result
            return
        }
        self.init(
            token,
            of: snapshot.credentials,
            snapshot.account,
            declinedScopes: Self.declined(requested, token: token, rule: rule),
            source: acquired.source,
            persistence: snapshot.persistence,
            correlationID: acquired.correlationID
        )
    }

    private static func declined(_ requested: Set<Scope>, token: CachedAccessToken, rule: ScopeRule) -> Set<Scope> {
        // A token is given only to who asked for no more than was granted, or for what was asked for then.
        guard !token.declinesNothing else { return [] }
        var declined: Set<Scope> = []
        for scope in requested {
            if !token.covers(scope, by: rule) { declined.insert(scope) }
        }
        return declined
    }
}
