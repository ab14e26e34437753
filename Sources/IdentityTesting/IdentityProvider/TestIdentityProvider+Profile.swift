// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension TestIdentityProvider {
    /// The kind of provider to play. Paths, claims and refusals differ between kinds.
    ///
    /// ```swift
    /// let provider = try TestIdentityProvider(profile: .entra)
    /// ```
    @nonexhaustive public enum Profile: Hashable, Sendable {
        /// A plain OpenID Connect provider.
        case openIDConnect
        /// Microsoft Entra ID with one home tenant, a GUID.
        case entra(tenantID: String)
        /// Microsoft Entra External ID for customers, with one tenant, a GUID.
        case externalID(tenantID: String)
        /// Azure AD B2C with a tenant such as `contoso.onmicrosoft.com`, and its policies.
        case b2c(tenant: String, policies: [String])
        /// Active Directory Federation Services.
        case adfs

        /// Entra ID with a default tenant.
        public static let entra = Profile.entra(tenantID: "11111111-2222-4333-8444-555555555555")

        /// External ID with a default tenant.
        public static let externalID = Profile.externalID(tenantID: "c1a0c1a0-2222-4333-8444-666666666666")

        /// B2C with two policies: `b2c_1_susi` and `b2c_1_reset`.
        public static let b2c = Profile.b2c(tenant: "contoso.onmicrosoft.com", policies: ["b2c_1_susi", "b2c_1_reset"])

        var isMicrosoft: Bool { self != .openIDConnect }

        /// Whether the provider answers in Entra ID's form. External ID is based on Entra ID.
        var isEntra: Bool {
            switch self {
            case .entra, .externalID: true
            case .openIDConnect, .b2c, .adfs: false
            }
        }

        var isB2C: Bool {
            if case .b2c = self { true } else { false }
        }
    }

    /// The task of a B2C policy, which the person completes before being sent back signed in.
    ///
    /// ```swift
    /// provider.settings.userFlows["b2c_1_reset"] = .passwordReset
    /// ```
    @nonexhaustive public enum UserFlow: Hashable, Sendable {
        /// Sign in.
        case signIn
        /// Sign in, or sign up first.
        case signUpOrSignIn
        /// Change the display name.
        case editProfile
        /// Choose a new password. The verification by e-mail is left out.
        case passwordReset
    }

    /// Whether authorization requests can or must be pushed (RFC 9126).
    ///
    /// ```swift
    /// provider.settings.pushedAuthorizationRequests = .required
    /// ```
    @nonexhaustive public enum PushedAuthorizationRequests: Hashable, Sendable {
        /// The provider has no endpoint for pushed requests.
        case unavailable
        /// Authorization requests can be pushed.
        case offered
        /// Authorization requests must be pushed.
        case required
    }

    /// An endpoint of the provider.
    ///
    /// ```swift
    /// #expect(provider.count(of: .token) == 1)
    /// ```
    public struct Endpoint: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The endpoint's name in records and errors.
        public let rawValue: String

        /// Wraps a name; only the names below have a meaning.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The configuration document.
        public static let discovery = Endpoint(rawValue: "discovery")
        /// The document with the public keys (JWKS).
        public static let keys = Endpoint(rawValue: "keys")
        /// The authorization endpoint, to which the browser is sent.
        public static let authorization = Endpoint(rawValue: "authorization")
        /// The endpoint for pushed authorization requests (RFC 9126).
        public static let pushedAuthorization = Endpoint(rawValue: "pushedAuthorization")
        /// The address to which the sign-in and consent forms are posted.
        public static let interaction = Endpoint(rawValue: "interaction")
        /// The token endpoint, which redeems codes and refresh tokens.
        public static let token = Endpoint(rawValue: "token")
        /// The endpoint at which a device requests a code (RFC 8628).
        public static let deviceAuthorization = Endpoint(rawValue: "deviceAuthorization")
        /// The page on which a person types a device's code.
        public static let deviceVerification = Endpoint(rawValue: "deviceVerification")
        /// The endpoint that revokes tokens (RFC 7009).
        public static let revocation = Endpoint(rawValue: "revocation")
        /// The endpoint that tells about a token (RFC 7662).
        public static let introspection = Endpoint(rawValue: "introspection")
        /// The endpoint that signs a person out of the provider.
        public static let endSession = Endpoint(rawValue: "endSession")
        /// The endpoint that returns claims about the person.
        public static let userInfo = Endpoint(rawValue: "userInfo")
        /// The endpoint with Entra's list of clouds.
        public static let instanceDiscovery = Endpoint(rawValue: "instanceDiscovery")
        /// Any other address.
        public static let unknown = Endpoint(rawValue: "unknown")

        /// The name.
        public var description: String { rawValue }
    }
}
