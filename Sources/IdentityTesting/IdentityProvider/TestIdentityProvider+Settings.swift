// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension TestIdentityProvider {
    /// How the provider behaves. Changes count from the next request on.
    public struct Settings: Sendable {
        /// How long access tokens are valid. An hour unless set.
        public var accessTokenLifetime: Duration = .seconds(3600)
        /// How long refresh tokens are valid. 90 days unless set.
        public var refreshTokenLifetime: Duration = .seconds(90 * 86_400)
        /// How long ID tokens are valid. An hour unless set.
        public var idTokenLifetime: Duration = .seconds(3600)
        /// How long a code can be redeemed. One minute unless set.
        public var codeLifetime: Duration = .seconds(60)
        /// After what time a new access token had better be fetched (`refresh_in`); `nil` says nothing, and is the
        /// default.
        public var refreshIn: Duration?

        /// Whether each refresh gives a new refresh token, and the old one counts as stolen when it comes again.
        public var rotatesRefreshTokens = true
        /// How long after a rotation the old refresh token gets the same answer once more. Zero unless set: never.
        public var reuseGracePeriod: Duration = .zero
        /// Whether there are refresh tokens at all.
        public var issuesRefreshTokens = true
        /// Whether a refresh token is only given to who asks for `offline_access`.
        public var requiresOfflineAccess = true
        /// Whether a refresh gives an ID token too.
        public var issuesIDTokenOnRefresh = true

        /// Whether answers through the browser carry `iss` (RFC 9207), and the configuration says so.
        public var namesIssuerInResponse = true
        /// Whether the configuration names the method S256. It is checked in any case.
        public var advertisesS256 = true
        /// Whether authorization requests must have a `code_challenge`.
        public var requiresPKCE = true
        /// The ways an answer can arrive.
        public var responseModes = ["query", "form_post"]
        /// Whether the answer comes in the query where a form was asked for and is offered, as GitLab's does.
        public var forgetsResponseMode = false

        /// Whether authorization requests can be pushed, or must be; a provider of the profile `.openIDConnect` has the
        /// endpoint. A reference is good for one visit of the client that pushed the request.
        public var pushedAuthorizationRequests = PushedAuthorizationRequests.unavailable
        /// How long a pushed request waits for the browser. 90 s unless set.
        public var pushedRequestLifetime: Duration = .seconds(90)

        /// The scopes there are; `nil` means any.
        public var knownScopes: Set<String>?
        /// The scopes that the person must agree to.
        public var consentScopes: Set<String> = []
        /// The scopes that only an administrator can agree to.
        public var adminConsentScopes: Set<String> = []
        /// The scopes that are silently left out of what is granted.
        public var declinedScopes: Set<String> = []

        /// What a B2C policy lets the person do, by its name in lower case. A policy that is not named here signs in.
        public var userFlows: [String: UserFlow] = [:]
        /// Whether the sign-in page has a button for each of the first people, who then need no password: for trying
        /// things out.
        public var offersPeople = false

        /// Whether the first person, or the one the login hint names, signs in and agrees without seeing a page.
        public var autoApproves = false

        /// What a person types on a page of its own after the password, as a text message would have brought it; `nil`
        /// means that there is no such page.
        public var secondFactorCode: String?
        /// Whether the answer to `urn:ietf:wg:oauth:2.0:oob` is a page that has it in its title, as Google's was, and
        /// not a redirect.
        public var titlesOutOfBandAnswers = false

        /// How long a device's code is valid. 15 minutes unless set.
        public var deviceCodeLifetime: Duration = .seconds(900)
        /// How long a device waits between two questions. 5 s unless set.
        public var deviceInterval: Duration = .seconds(5)

        /// The settings of a plain OpenID Connect provider.
        public init() {}

        /// The settings that a kind of provider usually has.
        public init(_ profile: Profile) {
            namesIssuerInResponse = profile == .openIDConnect
            requiresOfflineAccess = profile != .adfs
        }
    }
}
