// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
package import IdentityTelemetry
public import Logging
import OAuthWire

/// The settings of an application object. Every setting that ``init(clientID:authority:cache:)`` does not take has a
/// default.
///
/// ```swift
/// var configuration = ClientConfiguration(
///     clientID: "00001111-aaaa-2222-bbbb-3333cccc4444",
///     authority: try .entra(.organizations),
///     cache: FileTokenCache()
/// )
/// configuration.requestTimeout = .seconds(10)
/// let app = try PublicClientApplication(configuration)
/// ```
public struct ClientConfiguration: Sendable {
    /// The identifier that the provider gave the program.
    public var clientID: ClientID

    /// The client secret, if the provider requires it from installed programs, as Google does; `nil`, the default, for
    /// a client without a secret. It is sent with the requests for tokens, never by the browser.
    ///
    /// - SeeAlso: [RFC 6749 §2.3.1](https://www.rfc-editor.org/rfc/rfc6749#section-2.3.1)
    public var clientSecret: ClientSecret?

    /// The place of the secret in a request, if the registration says so.
    package var clientSecretPlace: ClientCredentials.Place?

    /// Reads the secret of a registration, and its place, when a request needs them.
    package var readingClientSecret: (@Sendable () async throws -> (ClientSecret, ClientCredentials.Place?)?)?

    /// The issuer of the tokens.
    public var authority: Authority

    /// The cache that stores the tokens. There is no default; choose a cache explicitly.
    public var cache: any TokenCache

    /// The programs that share the records; `nil` means this client alone.
    public var cacheGroup: CacheGroup?

    /// The address to which the browser returns.
    public var redirectURI: RedirectURI = .loopback

    /// The transport that sends requests. The default loads libcurl with the first request.
    public var transport: any HTTPTransport = CurlTransport()

    /// The launcher that shows the sign-in page to the person.
    public var browser: any BrowserLauncher = SystemBrowserLauncher()

    /// The receiver that notices the browser's return.
    public var redirectReceiver: any RedirectReceiver = LoopbackRedirectReceiver()

    /// The clock that tells the current time.
    public var clock: any WallClock = SystemClock()

    /// The time before expiration at which an access token is renewed, or a tenth of its lifetime if that is shorter.
    /// Five minutes unless set; not negative. Rauthy accepts a refresh token in the last minute only: set less than
    /// 60 s there.
    public var expirationLeeway: Duration = .seconds(300)

    /// The settings for Entra ID. The defaults suit most programs.
    public var entra = Entra()

    /// The longest time for one request to the provider.
    ///
    /// 30 s unless set; above 0 and at most 60 s, otherwise ``PublicClientApplication/init(_:)`` throws
    /// `.invalidArgument`. If a ``CurlTransport`` has a shorter `timeout` of its own, the request ends after that.
    public var requestTimeout: Duration = .seconds(30)

    /// Whether an identity broker is asked for tokens. ``BrokerUse/off`` unless set. Only for Entra ID authorities:
    /// with another one, ``PublicClientApplication/init(_:)`` throws `.invalidArgument`.
    public var broker: BrokerUse = .off

    /// Whether the server is asked for tokens that are bound to a key of the sign-in (DPoP), and are of no use without it.
    /// ``DPoPPolicy/off`` unless set.
    ///
    /// The key is made at the sign-in, kept in the account's record, and removed with it. Every request to the server has a
    /// proof of it. The accounts and tokens are kept apart from those of a program that asks for bearer tokens.
    /// Each way to sign in does so; a refresh token from another library, which is bound to another key or to none, is refused
    /// with `.unsupported` if bound tokens are required.
    ///
    /// Another policy is refused by ``PublicClientApplication/init(_:)`` (`.invalidArgument`) for a Microsoft authority, and
    /// one of endpoints alone: see ``AuthenticationScheme/pop``.
    /// - SeeAlso: [RFC 9449](https://www.rfc-editor.org/rfc/rfc9449)
    public var dpop: DPoPPolicy = .off

    /// The client capabilities that the program supports, for example `cp1` for claims challenges (Microsoft's
    /// `xms_cc`).
    public var clientCapabilities: [String] = []

    /// The settings that only one provider or one registration needs.
    public var compatibility = Compatibility()

    /// The logger; `nil` means the task's current logger.
    public var logger: Logger?

    /// The observer of the exchange; `nil`, the default, for none. The product `IdentityCapture` sets it.
    package var observer: (any ExchangeObserver)?

    /// Whether a token that names another address than the authority's resource is refused (``TokenAudience``). `false`, the
    /// default, if issuer and resource were named together, and not one by the other.
    package var checksAudience = false

    /// The receiver of metrics and spans: what the package's traits ask for.
    package var telemetry: (any Telemetry)? = TelemetryBackend.current

    /// Additional parameters of every request for tokens: with a code, a device code, a refresh token or a grant of the
    /// program's choice. For example `resource` (RFC 8707) or `audience`, if the provider wants them there. None unless set.
    ///
    /// ```swift
    /// configuration.extraTokenParameters = ["resource": "https://api.example.com"]
    /// ```
    ///
    /// The page's address needs them apart, in `InteractiveParameters.extraQueryItems`. A token exchange, which has its own,
    /// and an identity broker do not get them. A token in the cache answers only if it was requested with the same
    /// parameters: after a change, the next silent call refreshes.
    ///
    /// A name that the library itself uses, an empty value, and a value of more than 4,096 bytes are refused
    /// (`.invalidArgument`). They are no place for secrets.
    public var extraTokenParameters: [String: String] = [:]

    /// The header fields that are sent with every request to the provider, from an ``AccountType``.
    var extraHeaderFields: [HTTPField] = []

    /// The items that are added to those of each sign-in, from an ``AccountType``.
    var extraQueryItems: [String: String] = [:]

    /// Receives the failed acquisitions of an ``AccountStore``'s application object.
    var failed: (@Sendable (AuthenticationError, Account?) -> Void)?

    /// Creates a configuration from the settings that have no default.
    public init(clientID: ClientID, authority: Authority, cache: any TokenCache) {
        self.clientID = clientID
        self.authority = authority
        self.cache = cache
    }
}

extension ClientConfiguration {
    /// The settings for Entra ID, without effect at other providers.
    ///
    /// ```swift
    /// configuration.entra.isInstanceAware = true
    /// ```
    public struct Entra: Hashable, Sendable {
        /// Whether accounts of Microsoft's other clouds, such as that of the US government, may sign in at Entra ID
        /// (`instance_aware`). Off unless set.
        ///
        /// A sign-in in the browser goes on at the account's cloud, which gets the code and issues the tokens. The account's
        /// ``Account/environment`` names the cloud. ``PublicClientApplication/allAccounts()`` lists the accounts of all clouds, and
        /// every call for an account goes to the account's cloud. A call's own authority may be of any cloud, too.
        ///
        /// The program is registered with one client ID in each of the clouds, and its authority is for the accounts of any tenant
        /// (`common` or `organizations`). A cloud that the library does not know is believed only if its host is one of
        /// ``knownHosts``; otherwise the sign-in throws `.untrustedAuthority`.
        ///
        /// - SeeAlso: [National clouds](https://learn.microsoft.com/entra/identity-platform/authentication-national-cloud)
        public var isInstanceAware = false

        /// Whether an expired access token is handed out while the provider cannot issue another one, for as long as the
        /// provider allowed when it issued the token (Microsoft's `ext_expires_in`). Off unless set.
        ///
        /// An outage is a network failure other than an untrusted certificate, a status of 5xx or 408, or a request to wait
        /// (429). A refusal, a demand for a sign-in and a forced refresh never yield such a token. The result says so in
        /// ``AuthenticationResult/isExtendedLifetimeToken``; an API may still refuse the token.
        public var allowsExtendedLifetime = false

        /// The hosts of Entra ID authorities that the program trusts in addition to the known clouds.
        public var knownHosts: Set<String> = []

        /// Creates the default settings.
        public init() {}
    }
}

extension ClientConfiguration {
    /// The settings that only one provider or one registration needs. The defaults suit most providers.
    ///
    /// ```swift
    /// var configuration = ClientConfiguration(clientID: clientID, authority: authority, cache: cache)
    /// configuration.compatibility.defaultScopes = ["openid"]  // the provider refuses the others to this client
    /// ```
    public struct Compatibility: Hashable, Sendable {
        /// The policy for pushing the authorization request to the provider, so that the browser carries only a
        /// reference to it.
        ///
        /// ``PushPolicy/whenRequired`` unless set.
        public var pushedAuthorizationRequests: PushPolicy = .whenRequired

        /// Whether a refresh is sent once more if it is unknown whether the server acted on it: after a time-out, a
        /// broken connection or a 5xx, but not if ``CurlTransport`` had no connection to send it on, and not if the program
        /// was stopped (Ctrl-Z, `docker pause`) meanwhile for longer than ``ClientConfiguration/requestTimeout``. A provider
        /// with a grace period repeats its answer, and the sign-in survives. Turn it off for a provider that treats the
        /// second request as theft. On unless set.
        public var retriesUnansweredRefreshes = true

        /// The largest accepted difference between this computer's clock and the provider's when a sign-in's ID token
        /// is checked. A refresh works with any clock. Five minutes unless set; not negative.
        ///
        /// - SeeAlso: [OpenID Connect Core §3.1.3.7](https://openid.net/specs/openid-connect-core-1_0.html#IDTokenValidation), items 9 and 10
        public var clockTolerance: Duration = .seconds(300)

        /// The scopes that are requested in addition to the program's own. `nil` means `openid`, `profile` and
        /// `offline_access`, as far as the provider says that it supports them, and no scopes at a plain OAuth 2.0
        /// server.
        ///
        /// Set it if the provider refuses one of these scopes to this client (`.invalidScope`). A sign-in at any
        /// authority other than `.oauth2(_:)` needs `openid`, here or among the program's own scopes; otherwise it ends
        /// with `.invalidArgument` before anything is sent. Without `offline_access`, many providers give no refresh
        /// token. Keycloak gives a refresh token that ends with the browser's session; with `offline_access`, from
        /// version 26.1 on, Keycloak ends that session.
        public var defaultScopes: Set<Scope>?

        /// Whether a provider that publishes no keys is trusted: its ID tokens are then accepted unverified from the
        /// token endpoint over TLS. Off unless set.
        ///
        /// - SeeAlso: [OpenID Connect Core §3.1.3.7](https://openid.net/specs/openid-connect-core-1_0.html#IDTokenValidation), item 6
        public var allowsUnpublishedKeys = false

        /// Creates the default settings.
        public init() {}
    }
}

extension ClientConfiguration {
    /// The policy that decides when an authorization request is pushed. If pushing fails, the sign-in fails, and no
    /// browser is opened.
    ///
    /// ```swift
    /// configuration.compatibility.pushedAuthorizationRequests = .whenOffered
    /// ```
    /// - SeeAlso: [RFC 9126](https://www.rfc-editor.org/rfc/rfc9126)
    @nonexhaustive public enum PushPolicy: Hashable, Sendable {
        /// If the provider publishes that it accepts pushed requests only.
        case whenRequired
        /// If the provider publishes an endpoint for pushed requests. Use it for a client whose own registration
        /// requires pushing, which no provider publishes. Use it also to keep the login hint, the claims and all other
        /// parameters out of the browser's address and history, and out of the command line that starts the browser.
        /// Pushing costs another round trip, and an address that is opened late or twice may be refused.
        case whenOffered
    }
}

extension ClientConfiguration {
    /// Returns the scopes to request in addition to the program's own.
    func scopesToAdd(for authority: Authority, _ metadata: ProviderMetadata) -> [String] {
        if let defaultScopes = compatibility.defaultScopes { return defaultScopes.map(\.rawValue).sorted() }
        if case .oauth2 = authority.kind { return [] }
        if case .authorizationServer = authority.kind {
            return metadata.scopes?.contains("offline_access") == true ? ["offline_access"] : []
        }
        return ["openid", "profile", "offline_access"].filter { scope in
            scope == "openid" || authority.isMicrosoft || metadata.scopes?.contains(scope) != false
        }
    }

    /// Throws if a sign-in would not get the ID token that identifies the person.
    ///
    /// - Throws: `.invalidArgument`.
    func checkNamesOpenID(_ scopes: Set<Scope>, at authority: Authority) throws {
        guard let defaultScopes = compatibility.defaultScopes, authority.issuesIDTokens,
            !defaultScopes.union(scopes).contains("openid")
        else {
            return
        }
        throw AuthenticationError(
            .invalidArgument,
            """
            This kind of authority needs openid: add it to the default scopes. A server without ID tokens is named by its \
            endpoints, as a plain OAuth 2.0 server.
            """
        )
    }
}

extension AuthenticationError {
    /// Returns the error with the scopes that the library added, if it refuses a scope: the refused scope may be one of
    /// them.
    func naming(_ sent: [String], beyond own: Set<Scope>) -> AuthenticationError {
        let added = sent.filter { !own.contains(Scope(rawValue: $0)) }.sorted()
        let isAboutScopes = ["invalid_scope", "not_allowed"].contains(serverError?.error)
        guard code == .invalidScope, isAboutScopes, !added.isEmpty else { return self }
        let asked = own.isEmpty ? "" : " Asked for: \(own.map(\.rawValue).sorted().joined(separator: ", "))."
        return saying(
            code,
            "\(message)\(asked) Added by default: \(added.joined(separator: ", ")); set other default scopes to "
                + "leave one out."
        )
    }
}

extension EndpointOutcome<JSONObject> {
    /// The same as `members()`, of a request for scopes: a refusal of one names those that the program did not.
    func members(asking sent: [String], beyond own: Set<Scope>) throws(AuthenticationError) -> JSONObject {
        do { return try members() } catch { throw error.naming(sent, beyond: own) }
    }
}

extension [String] {
    func appendingMissing(_ others: [String]) -> [String] {
        self + others.filter { !contains($0) }
    }
}
