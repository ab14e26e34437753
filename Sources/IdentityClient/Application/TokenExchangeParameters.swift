// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import OAuthWire

/// The parameters of an exchange of one token for another.
///
/// ```swift
/// var parameters = TokenExchangeParameters(.accessToken(of: account, scopes: ["api.read"]))
/// parameters.audiences = ["billing"]
/// let billing = try await app.exchangeToken(parameters)
/// ```
///
/// - SeeAlso: [RFC 8693 §2.1](https://www.rfc-editor.org/rfc/rfc8693#section-2.1)
public struct TokenExchangeParameters: Sendable {
    /// The token that is exchanged: on whose behalf the new one is.
    ///
    /// ```swift
    /// let subject = TokenExchangeParameters.Subject.idToken(of: account)
    /// ```
    public struct Subject: Sendable {
        enum Source: Sendable {
            case accessToken(Account, Set<Scope>)
            case idToken(Account, Set<Scope>)
            case given(SecurityToken)
        }

        let source: Source

        /// The access token of an account that is signed in here, from the cache or a refresh.
        ///
        /// - Parameters:
        ///   - account: The account.
        ///   - scopes: The scopes that the token must have, as in `SilentParameters.scopes`.
        public static func accessToken(of account: Account, scopes: Set<Scope>) -> Subject {
            Subject(source: .accessToken(account, scopes))
        }

        /// The ID token of an account that is signed in here. If it has expired, it is renewed together with the access
        /// token.
        ///
        /// - Parameters:
        ///   - account: The account.
        ///   - scopes: The scopes of that access token. With those of the sign-in no request is needed.
        public static func idToken(of account: Account, scopes: Set<Scope> = []) -> Subject {
            Subject(source: .idToken(account, scopes))
        }

        /// A token that the program has from elsewhere.
        public static func token(_ token: SecurityToken) -> Subject { Subject(source: .given(token)) }

        var account: Account? {
            switch source {
            case .accessToken(let account, _), .idToken(let account, _): account
            case .given: nil
            }
        }
    }

    /// The token that is exchanged.
    public var subject: Subject

    /// The token of the party that will use the new token; `nil`, the default, if that is the subject itself.
    public var actor: SecurityToken?

    /// The addresses of the services that the new token is for: absolute URIs without a fragment.
    /// - SeeAlso: [RFC 8707 §2](https://www.rfc-editor.org/rfc/rfc8707#section-2)
    public var resources: [String]

    /// The names of the services that the new token is for, as the provider knows them; often client identifiers.
    public var audiences: [String]

    /// The scopes of the new token. They are sent as they are, without `openid` or others; none means the provider's choice.
    public var scopes: Set<Scope>

    /// The kind of token that is wanted; `nil`, the default, leaves it to the provider, which most often issues an access
    /// token.
    public var requestedType: SecurityToken.TypeIdentifier?

    /// Another authority of the same kind and cloud, such as a tenant; `nil` means the configured authority.
    public var authority: Authority?

    /// The identifier of the request in the provider's logs; `nil` means a new identifier.
    public var correlationID: UUID?

    /// Creates parameters that exchange `subject`.
    public init(
        _ subject: Subject,
        actor: SecurityToken? = nil,
        resources: [String] = [],
        audiences: [String] = [],
        scopes: Set<Scope> = [],
        requestedType: SecurityToken.TypeIdentifier? = nil,
        authority: Authority? = nil,
        correlationID: UUID? = nil
    ) {
        self.subject = subject
        self.actor = actor
        self.resources = resources
        self.audiences = audiences
        self.scopes = scopes
        self.requestedType = requestedType
        self.authority = authority
        self.correlationID = correlationID
    }
}

extension TokenExchangeParameters {
    /// Whether a request may name the resource: an absolute URI of at most 2,048 bytes, without a fragment.
    package static func isResource(_ text: String) -> Bool {
        text.utf8.count <= 2048 && WireText.isAbsoluteURI(text) && !text.utf8.contains(UInt8(ascii: "#"))
    }

    /// Whether a request may name the audience: at most 2,048 bytes on one line.
    package static func isAudience(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 2048
            && text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
    }

    /// - Throws: `.invalidArgument`.
    func check() throws {
        if case .given(let token) = subject.source { try token.check(as: "subject") }
        try actor?.check(as: "actor")
        try requestedType?.check(of: "requested token")
        guard resources.allSatisfy(Self.isResource) else {
            throw AuthenticationError(
                .invalidArgument,
                "A resource of the exchange is no absolute URI, or has a fragment. Give an address, or use an audience."
            )
        }
        guard audiences.allSatisfy(Self.isAudience) else {
            throw AuthenticationError(
                .invalidArgument,
                "An audience of the exchange is empty, has control characters, or is longer than 2,048 bytes."
            )
        }
    }
}

/// The token that an exchange gave. The library keeps no copy of it.
///
/// ```swift
/// if let header = result.authorizationHeader { request.headerFields[.authorization] = header }
/// ```
///
/// - SeeAlso: [RFC 8693 §2.2.1](https://www.rfc-editor.org/rfc/rfc8693#section-2.2.1)
public struct TokenExchangeResult: Sendable {
    /// The new token, and its kind. Its content is for the service that it is for, and is not checked.
    public let token: SecurityToken

    /// The scheme of the `Authorization` header: `Bearer`, or `N_A` for a token that no API takes in this header.
    public let tokenType: String

    /// The time at which the token expires, by this computer's clock; `nil` if the provider does not say.
    public let expiresOn: Date?

    /// The scopes of the token. They are the requested ones if the provider does not say.
    public let scopes: Set<Scope>

    /// A refresh token that came with the new token; `nil`, most often, without one. It is a secret, and not stored.
    public let refreshToken: String?

    /// The identifier of the request on both sides, for support.
    public let correlationID: UUID

    /// The value of the `Authorization` header; `nil` for a token that is not for it. It is a secret.
    public var authorizationHeader: String? { tokenType == "Bearer" ? "Bearer \(token.value)" : nil }

    /// Creates a result, for a program's tests.
    public init(
        token: SecurityToken,
        tokenType: String = "Bearer",
        expiresOn: Date?,
        scopes: Set<Scope> = [],
        refreshToken: String? = nil,
        correlationID: UUID = UUID()
    ) {
        self.token = token
        self.tokenType = tokenType
        self.expiresOn = expiresOn
        self.scopes = scopes
        self.refreshToken = refreshToken
        self.correlationID = correlationID
    }
}

extension TokenExchangeResult: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The kind of the token and its expiration time, without a secret.
    public var description: String {
        "TokenExchangeResult(type: \(token.type), expiresOn: \(expiresOn.map { "\($0)" } ?? "unknown"))"
    }

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// Shows no secret, so that `dump` reveals none.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: ["token": token, "tokenType": tokenType, "expiresOn": expiresOn as Any, "scopes": scopes]
        )
    }
}

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
        guard !value.isEmpty, value.utf8.count <= 65_536, WireText.isVisibleASCII(value) else {
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

extension SecurityToken.TypeIdentifier {
    /// - Throws: `.invalidArgument` if the type is no URI.
    func check(of name: String) throws {
        guard isWellFormed else {
            throw AuthenticationError(
                .invalidArgument,
                "The type of the \(name) is no URI, such as urn:ietf:params:oauth:token-type:access_token."
            )
        }
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
