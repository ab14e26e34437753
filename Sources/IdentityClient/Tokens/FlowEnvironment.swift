// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityTelemetry
import Logging
import OAuthWire
import SystemSupport

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
    /// The resource and the program's parameters of every request for tokens, in order.
    let tokenParameters: [(String, String)]
    /// Tells tokens apart that were requested with other parameters of the program's; 0 for none.
    let parameterTag: UInt64
    /// Whether metrics or traces are wanted.
    let isMeasured: Bool
    /// The resource, if its tokens go there without TLS.
    let localResource: String?
    /// Whether a silent call is measured, tells of a failure, finds its account's cloud, or finds its key. A hit asks only this.
    let isMoreThanAHit: Bool

    init(_ settings: ClientConfiguration) {
        var configuration = settings
        configuration.authority = settings.authority.binding(tokens: settings.dpop)
        self.configuration = configuration
        isMeasured = configuration.telemetry != nil
        clouds = Clouds(
            of: configuration.authority,
            areSeveral: configuration.entra.isInstanceAware,
            knownHosts: configuration.entra.knownHosts
        )
        localResource = configuration.authority.resource.flatMap { LocalServers.isOne($0) ? $0 : nil }
        isMoreThanAHit =
            isMeasured || configuration.failed != nil || clouds.areSeveral || configuration.authority.dpop != .off
            || localResource != nil
        partition = configuration.authority.partition
        hasTenants = configuration.authority.hasTenants
        scopeRule = configuration.authority.scopeRule
        expirationLeeway = configuration.expirationLeeway.components.seconds
        let extra = configuration.extraTokenParameters.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        parameterTag = Digest.tag(of: extra.flatMap { [$0.0, $0.1] })
        tokenParameters = configuration.authority.resourceItems + extra
        client = EndpointClient(
            transport: configuration.transport,
            deadline: configuration.requestTimeout,
            extraFields: configuration.extraHeaderFields,
            credentials: configuration.credentials,
            clock: configuration.clock,
            observer: configuration.observer,
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
        resolver = AuthorityResolver(documents: documents, knownHosts: configuration.entra.knownHosts)
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

    /// The items of a sign-in with those of its type of account.
    func itemsOfSignIn(_ items: [String: String]) -> [String: String] {
        configuration.extraQueryItems.merging(items) { _, own in own }
    }

    func context(_ correlationID: UUID?) -> RequestContext {
        let logger = configuration.logger
        return RequestContext(
            correlationID: correlationID,
            logger: configuration.observer?.logger(beside: logger ?? Logger.current) ?? logger
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
                ?? context.error(.browserUnavailable, advice, underlyingError: error)
        }
    }
}

extension FlowEnvironment {
    /// Runs a call that acquires a token, and tells its begin and its end to the capture, the metrics and the traces.
    func observing<Value>(
        _ activity: Activity,
        _ context: RequestContext,
        about account: Account? = nil,
        _ work: () async throws -> Value
    ) async throws -> Value {
        try await configuration.telemetry.observe(
            activity,
            correlationID: context.correlationID.uuidString.lowercased(),
            completion: Completion.of
        ) {
            try await telling(account) { try await noting(activity, context, work) }
        }
    }

    /// Runs a call, and tells the store of accounts that the application object belongs to of its failure.
    func telling<Value>(_ account: Account?, _ work: () async throws -> Value) async throws -> Value {
        do {
            return try await work()
        } catch {
            if let error = error as? AuthenticationError { configuration.failed?(error, account) }
            throw error
        }
    }

    /// Counts a caller that waits for a refresh which another caller began.
    func countSharedRefresh() {
        configuration.telemetry?.record(.refresh(.shared))
    }

    private func noting<Value>(
        _ activity: Activity,
        _ context: RequestContext,
        _ work: () async throws -> Value
    ) async throws -> Value {
        guard let observer = configuration.observer else { return try await work() }
        let kind = activity.rawValue
        observer.note("The acquisition begins: \(kind).", error: nil, context.correlationID)
        do {
            let value = try await work()
            let details = (value as? AuthenticationResult)?.details ?? ""
            observer.note("The acquisition succeeded: \(kind)\(details).", error: nil, context.correlationID)
            return value
        } catch {
            observer.note("The acquisition failed: \(kind).", error: error, context.correlationID)
            throw error
        }
    }
}

extension AuthenticationResult {
    fileprivate var details: String {
        let isStored = if case .persisted = persistence { true } else { false }
        return """
            , source \(source.rawValue), \(isStored ? "stored" : "not stored yet"), \(declinedScopes.count) scopes not granted
            """
    }
}

extension FlowEnvironment {
    /// Returns the key for the tokens of a new sign-in: a new one, where its server is asked for bound tokens.
    func proofOfSignIn(
        _ scheme: AuthenticationScheme,
        at authority: Authority,
        _ metadata: ProviderMetadata
    ) async throws -> TokenProof? {
        let isBound = authority.dpop == .required || authority.dpop == .whenOffered && metadata.bindsTokens
        guard isBound, scheme.isBearer else { return try await proof(scheme, at: authority) }
        return TokenProof(DPoPKey())
    }

    /// Returns the key for tokens of a scheme; `nil` for bearer tokens, which need none.
    ///
    /// - Throws: `.cache` if the key cannot be read or stored; `.unsupported` if the authority has no tokens of the scheme.
    func proof(_ scheme: AuthenticationScheme, at authority: Authority) async throws -> TokenProof? {
        if scheme.isBearer { return nil }
        guard authority.dpop == .off else {
            throw AuthenticationError(
                .unsupported,
                "The tokens of \(authority.url) are bound by DPoP, and not by \(scheme)."
            )
        }
        guard let key = scheme.sshKey else {
            let key = try await possessionKeys.key()
            return TokenProof(binding: TokenBinding(scheme: scheme, keyID: key.keyID), key: key)
        }
        guard case .entra = authority.kind else {
            throw AuthenticationError(
                .unsupported,
                "SSH certificates are issued by Entra ID only. Name it as the authority."
            )
        }
        return TokenProof(binding: TokenBinding(scheme: scheme, keyID: key.thumbprint), key: nil)
    }
}

extension AuthenticationError {
    /// Throws for a scheme whose tokens no broker is asked for: what its certificates are bound to is not known.
    static func checkBrokerKnows(_ scheme: AuthenticationScheme?, _ context: RequestContext) throws {
        guard scheme?.sshKey != nil else { return }
        throw context.error(
            .unsupported,
            "No SSH certificate is asked of an identity broker. Allow the browser as well (whenAvailable)."
        )
    }
}

extension ClientConfiguration {
    /// The client's secret and its place, if it has one.
    fileprivate var credentials: ClientCredentials? {
        if let readingClientSecret {
            return ClientCredentials(clientID: clientID.rawValue, secret: readingClientSecret)
        }
        guard let secret = clientSecret else { return nil }
        let place = clientSecretPlace
        return ClientCredentials(clientID: clientID.rawValue) { (secret, place) }
    }
}
