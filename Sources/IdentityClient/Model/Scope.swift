// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// What an access token permits, as the authorization server names it.
///
/// ```swift
/// let scopes: Set<Scope> = ["User.Read", .offlineAccess]
/// ```
///
/// - SeeAlso: [RFC 6749 §3.3](https://www.rfc-editor.org/rfc/rfc6749#section-3.3)
public struct Scope: RawRepresentable, Hashable, Sendable, ExpressibleByStringInterpolation, CustomStringConvertible {
    /// The scope as the server knows it. Its case is kept.
    public let rawValue: String

    /// Wraps a scope; it is checked when it is requested.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Wraps a scope; it is checked when it is requested.
    public init(stringLiteral value: String) {
        rawValue = value
    }

    /// The scope.
    public var description: String { rawValue }

    /// `openid`: an ID token is wanted.
    public static let openID: Scope = "openid"
    /// `profile`: the ID token tells the person's name.
    public static let profile: Scope = "profile"
    /// `email`: the ID token tells the person's address.
    public static let email: Scope = "email"
    /// `offline_access`: a refresh token is wanted.
    public static let offlineAccess: Scope = "offline_access"
}
