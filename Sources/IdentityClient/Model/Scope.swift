// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// A permission of an access token, as the authorization server names it.
///
/// ```swift
/// let scopes: Set<Scope> = ["User.Read", .offlineAccess]
/// ```
///
/// - SeeAlso: [RFC 6749 §3.3](https://www.rfc-editor.org/rfc/rfc6749#section-3.3)
public struct Scope: RawRepresentable, Hashable, Codable, Sendable, ExpressibleByStringInterpolation,
    CustomStringConvertible
{
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

    /// Whether a request may name the scope (RFC 6749 §3.3).
    var isWellFormed: Bool {
        !rawValue.isEmpty && rawValue.utf8.allSatisfy { $0.isVisible && $0 != 0x22 && $0 != 0x5C }
    }

    /// `openid`: requests an ID token.
    public static let openID: Scope = "openid"
    /// `profile`: requests the person's name in the ID token.
    public static let profile: Scope = "profile"
    /// `email`: requests the person's email address in the ID token.
    public static let email: Scope = "email"
    /// `offline_access`: requests a refresh token.
    public static let offlineAccess: Scope = "offline_access"
    /// `device_sso`: requests a secret with which other programs of the publisher sign the person in (Native SSO).
    public static let deviceSSO: Scope = "device_sso"
}

/// The rule that decides whether a set of scopes covers another set.
///
/// RFC 6749 §3.3 makes scopes case-sensitive, but Microsoft's providers answer `User.Read` to `user.read`. OpenID
/// Connect's own scopes are left out, because they do not describe what an access token permits.
package struct ScopeRule: Hashable, Sendable {
    package let ignoresCase: Bool

    package init(ignoresCase: Bool) {
        self.ignoresCase = ignoresCase
    }

    /// Scopes that steer the sign-in rather than the access token.
    package static let reserved: Set<String> = ["openid", "profile", "email", "offline_access", "device_sso"]

    /// Returns the scopes that matter for matching, in the form in which they are compared.
    package func matchable(_ scopes: some Sequence<String>) -> Set<String> {
        var result: Set<String> = []
        for scope in scopes {
            let scope = canonical(scope)
            if !Self.reserved.contains(scope) { result.insert(scope) }
        }
        return result
    }

    /// Returns whether a scope steers the sign-in. For most scopes, the length alone decides.
    func isReserved(_ scope: String) -> Bool {
        switch scope.utf8.count {
        case 5, 6, 7, 10, 14: Self.reserved.contains(canonical(scope))
        default: false
        }
    }

    /// Returns the form in which a scope is compared. Costs nothing if the scope already has this form.
    package func canonical(_ scope: String) -> String {
        guard ignoresCase, scope.utf8.contains(where: { (0x41...0x5A).contains($0) }) else { return scope }
        return scope.lowercased()
    }
}
