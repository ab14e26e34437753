// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A permission of an access token, as the authorization server names it.
///
/// ```swift
/// let scopes: Set<Scope> = ["User.Read", .offlineAccess]
/// ```
///
/// - SeeAlso: [RFC 6749 §3.3](https://www.rfc-editor.org/rfc/rfc6749#section-3.3)
public struct Scope: RawRepresentable, Hashable, Sendable, ExpressibleByStringInterpolation, CustomStringConvertible {
    /// The scope as the server knows it. Its case is kept.
    public let rawValue: String

    /// Wraps a scope. The request for it checks it.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Wraps a scope. The request for it checks it.
    public init(stringLiteral value: String) {
        rawValue = value
    }

    /// The scope.
    public var description: String { rawValue }

    /// `openid`: requests an ID token.
    public static let openID: Scope = "openid"
    /// `profile`: requests the person's name in the ID token.
    public static let profile: Scope = "profile"
    /// `email`: requests the person's email address in the ID token.
    public static let email: Scope = "email"
    /// `offline_access`: requests a refresh token.
    public static let offlineAccess: Scope = "offline_access"
}
