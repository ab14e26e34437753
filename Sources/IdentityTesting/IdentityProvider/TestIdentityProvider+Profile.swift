// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension TestIdentityProvider {
    /// Which kind of provider it plays: the paths, the claims and the refusals differ.
    public enum Profile: Hashable, Sendable {
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

        /// Entra ID with a tenant of its own.
        public static let entra = Profile.entra(tenantID: "11111111-2222-4333-8444-555555555555")

        /// External ID with a tenant of its own.
        public static let externalID = Profile.externalID(tenantID: "c1a0c1a0-2222-4333-8444-666666666666")

        /// B2C with two policies: `b2c_1_susi` and `b2c_1_reset`.
        public static let b2c = Profile.b2c(tenant: "contoso.onmicrosoft.com", policies: ["b2c_1_susi", "b2c_1_reset"])

        var isMicrosoft: Bool { self != .openIDConnect }

        /// Whether it words things as Entra ID does; External ID is built on that.
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

    /// What a B2C policy lets the person do before it sends them back signed in.
    public enum UserFlow: Hashable, Sendable {
        /// Sign in.
        case signIn
        /// Sign in, or sign up first.
        case signUpOrSignIn
        /// Change the name for display.
        case editProfile
        /// Choose a new password. What comes by e-mail elsewhere is left out.
        case passwordReset
    }

    /// Whether authorization requests are pushed (RFC 9126).
    public enum PushedAuthorizationRequests: Hashable, Sendable {
        /// There is no endpoint for them.
        case unavailable
        /// They can be.
        case offered
        /// No others are taken.
        case required
    }

    /// One of the provider's addresses.
    public struct Endpoint: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// Its name in records and errors.
        public let rawValue: String

        /// Wraps a name; only the ones below mean anything.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The published configuration.
        public static let discovery = Endpoint(rawValue: "discovery")
        /// The published keys (JWKS).
        public static let keys = Endpoint(rawValue: "keys")
        /// Where the browser is sent.
        public static let authorization = Endpoint(rawValue: "authorization")
        /// Where authorization requests are pushed (RFC 9126).
        public static let pushedAuthorization = Endpoint(rawValue: "pushedAuthorization")
        /// Where the sign-in and consent forms are posted to.
        public static let interaction = Endpoint(rawValue: "interaction")
        /// Where codes and refresh tokens are redeemed.
        public static let token = Endpoint(rawValue: "token")
        /// Where a device asks for a code (RFC 8628).
        public static let deviceAuthorization = Endpoint(rawValue: "deviceAuthorization")
        /// Where a person types a device's code.
        public static let deviceVerification = Endpoint(rawValue: "deviceVerification")
        /// Where tokens are revoked (RFC 7009).
        public static let revocation = Endpoint(rawValue: "revocation")
        /// Where a person signs out of the provider.
        public static let endSession = Endpoint(rawValue: "endSession")
        /// What the provider says about the person.
        public static let userInfo = Endpoint(rawValue: "userInfo")
        /// Entra's list of clouds.
        public static let instanceDiscovery = Endpoint(rawValue: "instanceDiscovery")
        /// Any other address.
        public static let unknown = Endpoint(rawValue: "unknown")

        /// The name.
        public var description: String { rawValue }
    }
}
