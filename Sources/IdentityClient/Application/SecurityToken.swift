// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

/// A token that is exchanged for another one, or that an exchange gave, and what kind of token it is.
///
/// ```swift
/// let subject = SecurityToken(samlAssertion, type: .saml2)
/// ```
///
/// Descriptions do not show the token.
public struct SecurityToken: Hashable, Sendable {
    /// The kind of a token: a URI.
    ///
    /// ```swift
    /// let type: SecurityToken.TypeIdentifier = "urn:example:params:oauth:token-type:ticket"
    /// ```
    ///
    /// - SeeAlso: [RFC 8693 §3](https://www.rfc-editor.org/rfc/rfc8693#section-3)
    public struct TypeIdentifier: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral,
        CustomStringConvertible
    {
        /// The URI.
        public let rawValue: String

        /// Wraps a URI. The request for it checks it.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Wraps a URI. The request for it checks it.
        public init(stringLiteral value: String) { rawValue = value }

        /// The URI.
        public var description: String { rawValue }

        private init(registered name: String) { rawValue = "urn:ietf:params:oauth:token-type:" + name }

        /// An access token of the provider that is asked.
        public static let accessToken = TypeIdentifier(registered: "access_token")
        /// A refresh token of the provider that is asked.
        public static let refreshToken = TypeIdentifier(registered: "refresh_token")
        /// An ID token of OpenID Connect.
        public static let idToken = TypeIdentifier(registered: "id_token")
        /// Any JSON Web Token.
        public static let jwt = TypeIdentifier(registered: "jwt")
        /// An assertion of SAML 1.1, in base64url.
        public static let saml1 = TypeIdentifier(registered: "saml1")
        /// An assertion of SAML 2.0, in base64url.
        public static let saml2 = TypeIdentifier(registered: "saml2")

        /// The secret of a sign-in with the scope `device_sso`.
        /// - SeeAlso: [Native SSO](https://openid.net/specs/openid-connect-native-sso-1_0.html)
        public static let deviceSecret: TypeIdentifier = "urn:openid:params:token-type:device-secret"

        /// Whether a request may name the type: an absolute URI of at most 1,024 bytes.
        package var isWellFormed: Bool { rawValue.utf8.count <= 1024 && WireText.isAbsoluteURI(rawValue) }
    }

    /// The token. It is a secret: send it to the service that it is for, and to no other.
    public let value: String

    /// The kind of the token.
    public let type: TypeIdentifier

    /// Wraps a token. The request that it is for checks it.
    public init(_ value: String, type: TypeIdentifier) {
        self.value = value
        self.type = type
    }

    /// - Throws: `.invalidArgument` for a text that is no token, or no type.
    func check(as role: String) throws {
        guard !value.isEmpty, value.utf8.count <= 65_536, value.utf8.areVisible else {
            throw AuthenticationError(
                .invalidArgument,
                """
                The \(role) token is empty, longer than 64 KiB, or has blanks, line ends or characters beyond ASCII. Give the \
                token alone.
                """
            )
        }
        try type.check(of: role + " token")
    }
}

extension SecurityToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The type.
    public var description: String { "SecurityToken(type: \(type))" }

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// Shows the type alone, so that `dump` reveals no secret.
    public var customMirror: Mirror { Mirror(self, children: ["type": type.rawValue]) }
}
