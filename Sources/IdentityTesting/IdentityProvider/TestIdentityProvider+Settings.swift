// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension TestIdentityProvider {
    /// The provider's behavior. Changes apply from the next request on.
    ///
    /// ```swift
    /// provider.settings.accessTokenLifetime = .seconds(60)
    /// provider.settings.rotatesRefreshTokens = false
    /// ```
    public struct Settings: Sendable {
        /// The lifetime of access tokens. The default is an hour.
        public var accessTokenLifetime: Duration = .seconds(3600)
        /// The lifetime of refresh tokens. The default is 90 days.
        public var refreshTokenLifetime: Duration = .seconds(90 * 86_400)
        /// Whether answers tell ``refreshTokenLifetime`` as `refresh_token_expires_in`. With the profile for B2C they always do.
        public var tellsRefreshTokenLifetime = false
        /// The lifetime of ID tokens. The default is an hour.
        public var idTokenLifetime: Duration = .seconds(3600)
        /// The lifetime of an authorization code. The default is one minute.
        public var codeLifetime: Duration = .seconds(60)
        /// The time after which a client should fetch a new access token (`refresh_in`). The default, `nil`, leaves the
        /// member out.
        public var refreshIn: Duration?
        /// The time for which an access token may be used in an outage (`ext_expires_in`). The default, `nil`, means
        /// ``accessTokenLifetime`` with the profile for Entra ID, and no member with the others.
        public var extendedLifetime: Duration?

        /// Whether each refresh returns a new refresh token. The old token then counts as stolen if it arrives again.
        public var rotatesRefreshTokens = true
        /// How long after a rotation the old refresh token gets the same answer again. The default is zero: never.
        public var reuseGracePeriod: Duration = .zero
        /// Whether the provider issues refresh tokens.
        public var issuesRefreshTokens = true
        /// Whether a refresh token requires the scope `offline_access`.
        public var requiresOfflineAccess = true
        /// Whether a refresh also returns an ID token.
        public var issuesIDTokenOnRefresh = true

        /// Whether the UserInfo endpoint answers with a signed JWT instead of JSON.
        public var signsUserInfo = false

        /// Whether answers through the browser carry `iss` (RFC 9207), and the configuration document says so.
        public var namesIssuerInResponse = true
        /// Whether the configuration document names the method S256. Challenges are checked in any case.
        public var advertisesS256 = true
        /// Whether authorization requests must have a `code_challenge`.
        public var requiresPKCE = true
        /// The supported response modes.
        public var responseModes = ["query", "form_post"]
        /// Whether the answer comes in the query although a form was requested and is offered, as with GitLab.
        public var forgetsResponseMode = false

        /// Whether authorization requests can or must be pushed. A provider of the profile `.openIDConnect` has the
        /// endpoint. A reference is valid for one visit of the client that pushed the request.
        public var pushedAuthorizationRequests = PushedAuthorizationRequests.unavailable
        /// How long a pushed request waits for the browser. The default is 90 s.
        public var pushedRequestLifetime: Duration = .seconds(90)

        /// The API at the provider's address; `nil` for none. With one, each request for tokens has to name it (RFC 8707). Only
        /// for the profile `.openIDConnect`.
        public var resource: Resource?
        /// How tokens are bound to a key (DPoP, RFC 9449); `nil`, the default, if they cannot be.
        public var dpop: DPoP?
        /// Whether programs may register themselves (RFC 7591).
        public var registersClients = false

        /// The known scopes; `nil` means any.
        public var knownScopes: Set<String>?
        /// The scopes that require the person's consent.
        public var consentScopes: Set<String> = []
        /// The scopes that require an administrator's consent.
        public var adminConsentScopes: Set<String> = []
        /// Whether an access token is bound to a key, or is an SSH certificate for it, if the request names one (`req_cnf`),
        /// as at Entra ID; otherwise the request gets a bearer token.
        public var issuesBoundTokens = false
        /// The scopes that are silently left out of a grant.
        public var declinedScopes: Set<String> = []

        /// Whether the provider exchanges a token for another one (RFC 8693): an access token or an ID token of its own for
        /// an access token or an ID token. Only a provider of the profile `.openIDConnect` does unless this is set.
        public var exchangesTokens = true
        /// The names that an exchange may give in `audience` and `resource`; `nil` means any.
        public var exchangeTargets: Set<String>?

        /// Which clients may ask about their tokens (RFC 7662). A provider of the profile `.openIDConnect` has the endpoint,
        /// which is public by default.
        public var introspection = IntrospectionCallers.anyClient

        /// The assertions that the provider redeems (RFC 7523), each with the username of the person it is about. Without
        /// any, it does not have the grant.
        public var assertions: [String: String] = [:]

        /// The user flows of B2C policies, by the policy's name in lower case. A policy without an entry signs in.
        public var userFlows: [String: UserFlow] = [:]
        /// Whether the sign-in page has a button for each of the first people, who then need no password. Use it to try
        /// things out.
        public var offersPeople = false

        /// Whether the first person, or the person named by the login hint, signs in and consents without seeing a
        /// page.
        public var autoApproves = false

        /// The code that a person types on a separate page after the password, as if it had arrived in a text message.
        /// `nil` means that there is no such page.
        public var secondFactorCode: String?
        /// Whether the answer to `urn:ietf:wg:oauth:2.0:oob` is a page with the answer in its title, as Google's was,
        /// and not a redirect.
        public var titlesOutOfBandAnswers = false

        /// The lifetime of a device's code. The default is 15 minutes.
        public var deviceCodeLifetime: Duration = .seconds(900)
        /// The interval between two polls of a device. The default is 5 s.
        public var deviceInterval: Duration = .seconds(5)

        /// The settings of a plain OpenID Connect provider.
        public init() {}

        /// The usual settings of a kind of provider.
        public init(_ profile: Profile) {
            namesIssuerInResponse = profile == .openIDConnect
            requiresOfflineAccess = profile != .adfs
            issuesBoundTokens = profile.isEntra
            exchangesTokens = profile == .openIDConnect
        }
    }
}
