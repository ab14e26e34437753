// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

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
