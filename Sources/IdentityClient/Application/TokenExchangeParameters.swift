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
    public var resources: [String] = []

    /// The names of the services that the new token is for, as the provider knows them; often client identifiers.
    public var audiences: [String] = []

    /// The scopes of the new token. They are sent as they are, without `openid` or others; none means the provider's choice.
    public var scopes: Set<Scope> = []

    /// The kind of token that is wanted; `nil`, the default, leaves it to the provider, which most often issues an access
    /// token.
    public var requestedType: SecurityToken.TypeIdentifier?

    /// Another authority of the same kind and cloud, such as a tenant; `nil` means the configured authority.
    public var authority: Authority?

    /// The identifier of the request in the provider's logs; `nil` means a new identifier.
    public var correlationID: UUID?

    /// Creates parameters that exchange `subject`; everything else has a default.
    public init(_ subject: Subject) {
        self.subject = subject
    }
}

extension TokenExchangeParameters {
    /// Whether a request may name the resource: an absolute URI of at most 2,048 bytes, without a fragment.
    package static func isResource(_ text: String) -> Bool {
        text.utf8.count <= 2048 && WireText.isAbsoluteURI(text) && !text.utf8.contains(UInt8(ascii: "#"))
    }

    /// Whether a request may name the audience: at most 2,048 bytes on one line.
    package static func isAudience(_ text: String) -> Bool {
        (1...2048).contains(text.utf8.count) && !text.utf8.hasControls
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
    package var refreshToken: String?

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
        correlationID: UUID = UUID()
    ) {
        self.token = token
        self.tokenType = tokenType
        self.expiresOn = expiresOn
        self.scopes = scopes
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
