// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
public import Logging

/// What an application object is made of. Everything that ``init(clientID:authority:cache:)`` does not ask for has a default.
///
/// ```swift
/// var configuration = PublicClientApplication.Configuration(
///     clientID: "00001111-aaaa-2222-bbbb-3333cccc4444",
///     authority: try .entra(.organizations),
///     cache: FileTokenCache()
/// )
/// configuration.requestTimeout = .seconds(10)
/// let app = try PublicClientApplication(configuration)
/// ```
public struct ClientConfiguration: Sendable {
    /// The identifier the provider gave the program.
    public var clientID: ClientID

    /// What the provider demands beside it from installed programs, as Google does; `nil`, the default, for a client
    /// without one. Sent with the requests for tokens, never by the browser.
    ///
    /// - SeeAlso: [RFC 6749 §2.3.1](https://www.rfc-editor.org/rfc/rfc6749#section-2.3.1)
    public var clientSecret: ClientSecret?

    /// Who issues the tokens.
    public var authority: Authority

    /// Where tokens rest. There is no silent default: it is said where they rest.
    public var cache: any TokenCache

    /// Who shares the records; `nil` means this client alone.
    public var cacheGroup: CacheGroup?

    /// Where the browser comes back to.
    public var redirectURI: RedirectURI = .loopback

    /// How requests are sent. The default loads libcurl with the first request.
    public var transport: any HTTPTransport = CurlTransport()

    /// How the person is shown the sign-in page.
    public var browser: any BrowserLauncher = SystemBrowserLauncher()

    /// How the browser's return is noticed.
    public var redirectReceiver: any RedirectReceiver = LoopbackRedirectReceiver()

    /// What time it is.
    public var clock: any WallClock = SystemClock()

    /// An access token is renewed this long before it expires, or a tenth of its lifetime where that is shorter.
    /// Five minutes unless set; not negative. Rauthy takes a refresh token in the last minute only: less than 60 s there.
    public var expirationLeeway: Duration = .seconds(300)

    /// The most that one request to the provider may take.
    ///
    /// 30 s unless set; above 0 and at most 60 s, else ``PublicClientApplication/init(_:)`` throws `.invalidArgument`.
    /// A ``CurlTransport`` that was given a `timeout` of its own ends a request by then, where that is sooner.
    public var requestTimeout: Duration = .seconds(30)

    /// What the program can handle, for example `cp1` for claims challenges (Microsoft's `xms_cc`).
    public var clientCapabilities: [String] = []

    /// Hosts of Entra ID authorities that the program vouches for beside the known clouds.
    public var knownHosts: Set<String> = []

    /// What one provider or one registration needs, and others do not.
    public var compatibility = Compatibility()

    /// Where to log; `nil` means the task's current logger.
    public var logger: Logger?

    /// Sent with every request to the provider; an ``AccountType``'s.
    var extraHeaderFields: [HTTPField] = []

    /// Sets what has no default.
    public init(clientID: ClientID, authority: Authority, cache: any TokenCache) {
        self.clientID = clientID
        self.authority = authority
        self.cache = cache
    }
}

extension ClientConfiguration {
    /// The settings that one provider or one registration needs, and others do not. The defaults suit most providers.
    ///
    /// ```swift
    /// var configuration = PublicClientApplication.Configuration(clientID: clientID, authority: authority, cache: cache)
    /// configuration.compatibility.defaultScopes = ["openid"]  // the provider refuses the others to this client
    /// ```
    public struct Compatibility: Hashable, Sendable {
        /// When the authorization request goes to the provider directly, and the browser brings only a reference to it.
        ///
        /// ``PushPolicy/whenRequired`` unless set.
        public var pushedAuthorizationRequests: PushPolicy = .whenRequired

        /// Whether a refresh is sent once more when nobody can tell whether the server acted on it: after a time-out, a
        /// broken connection or a 5xx; not where ``CurlTransport`` had no connection that it could have been sent on. A
        /// provider with a grace period answers the same again, and the sign-in is saved.
        /// Turn it off for a provider that takes the second time for theft. On unless set.
        public var retriesUnansweredRefreshes = true

        /// How much this computer's clock and the provider's may differ when a sign-in's ID token is checked. A refresh
        /// works with any clock. Five minutes unless set; not negative.
        ///
        /// - SeeAlso: [OpenID Connect Core §3.1.3.7](https://openid.net/specs/openid-connect-core-1_0.html#IDTokenValidation), items 9 and 10
        public var clockTolerance: Duration = .seconds(300)

        /// The scopes that are asked for beside the program's own; `nil` means `openid`, `profile` and
        /// `offline_access`, as far as the provider says it knows them, and none at a plain OAuth 2.0 server.
        ///
        /// Set it where the provider refuses one of those to this client (`.invalidScope`). A sign-in at any other kind of
        /// authority than `.oauth2(_:)` needs `openid`, here or among the program's own, else it ends with
        /// `.invalidArgument` before anything is sent. Without `offline_access` many providers give no refresh token. Keycloak
        /// does, one that ends with the browser's session; with it, from version 26.1 on, it ends that session.
        public var defaultScopes: Set<Scope>?

        /// Whether a provider that publishes no keys is believed, its ID tokens being taken unverified from the token
        /// endpoint over TLS. Off unless set.
        ///
        /// - SeeAlso: [OpenID Connect Core §3.1.3.7](https://openid.net/specs/openid-connect-core-1_0.html#IDTokenValidation), item 6
        public var allowsUnpublishedKeys = false

        /// The defaults.
        public init() {}
    }
}

extension ClientConfiguration {
    /// When an authorization request is pushed. If that fails, so does the sign-in, and no browser is opened.
    ///
    /// - SeeAlso: [RFC 9126](https://www.rfc-editor.org/rfc/rfc9126)
    public enum PushPolicy: Hashable, Sendable {
        /// Where the provider publishes that it takes no other request.
        case whenRequired
        /// Wherever the provider publishes an endpoint for it. For a client whose own registration requires it, which
        /// is published nowhere; and to keep the login hint, the claims and everything else that is asked for out of
        /// the browser's address and history, and of the command line that starts the browser. A request costs a
        /// round trip more, and an address that is opened late or twice may be refused.
        case whenOffered
    }
}
