// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// An access token, and what is known about it.
///
/// ```swift
/// request.headerFields[.authorization] = result.authorizationHeader
/// ```
public struct AuthenticationResult: Sendable {
    /// Where a token came from.
    public enum Source: String, Hashable, Sendable {
        /// From the token cache.
        case cache
        /// From the identity provider, just now.
        case identityProvider
    }

    /// Whether the tokens were written to the cache.
    public enum Persistence: Sendable {
        /// They are in the cache.
        case persisted
        /// They could not be written and live until the program ends. Another write is tried with the next acquisition; after
        /// a refresh the library tries by itself, too.
        case failed(AuthenticationError)
    }

    /// In an object that never changes, so that handing a result on costs next to nothing.
    private let parts: Parts

    /// The access token. A secret: send it to the API it is for, and nowhere else.
    public var accessToken: String { parts.values.accessToken }

    /// The scheme of the `Authorization` header, spelled `Bearer` whatever case the server used.
    public var tokenType: String { parts.values.tokenType }

    /// When the token expires, by this computer's clock. Where the provider does not say: an hour after it came; ten years
    /// for a plain OAuth 2.0 server's without a refresh token, whose end only the API tells (401).
    public var expiresOn: Date { parts.values.expiresOn }

    /// The scopes that were granted. They may be more than were asked for.
    public var scopes: Set<Scope> { parts.values.scopes }

    /// The scopes that were asked for and not granted.
    public var declinedScopes: Set<Scope> { parts.values.declinedScopes }

    /// Whose token it is.
    public var account: Account { parts.values.account }

    /// How the tenant that issued it knows the person; `nil` where there was no ID token.
    public var tenantProfile: TenantProfile? { parts.values.tenantProfile }

    /// The ID token as it came, validated when it came; `nil` where there was none.
    public var idToken: String? { parts.values.idToken }

    /// Where the token came from.
    public var source: Source { parts.values.source }

    /// Whether the tokens are in the cache. A token that a silent call takes from memory says `.failed` as well, until it is
    /// written.
    public var persistence: Persistence { parts.values.persistence }

    /// Names the request on both sides, for support; `nil` for a token from the cache.
    public var correlationID: UUID? { parts.values.correlationID }

    /// Creates a result; a program's tests do this.
    public init(
        accessToken: String,
        tokenType: String = "Bearer",
        expiresOn: Date,
        scopes: Set<Scope>,
        declinedScopes: Set<Scope> = [],
        account: Account,
        tenantProfile: TenantProfile? = nil,
        idToken: String? = nil,
        source: Source,
        persistence: Persistence = .persisted,
        correlationID: UUID? = nil
    ) {
        let values = Values(
            accessToken: accessToken,
            tokenType: tokenType,
            expiresOn: expiresOn,
            scopes: scopes,
            declinedScopes: declinedScopes,
            account: account,
            tenantProfile: tenantProfile,
            idToken: idToken,
            source: source,
            persistence: persistence,
            correlationID: correlationID
        )
        parts = Parts(values)
    }

    /// The value of the `Authorization` header. A secret.
    public var authorizationHeader: String { "\(tokenType) \(accessToken)" }
}

extension AuthenticationResult {
    /// An object, so that a copy of a result is a copy of one reference.
    private final class Parts: Sendable {
        let values: Values

        init(_ values: Values) { self.values = values }
    }

    private struct Values: Sendable {
        let accessToken: String
        let tokenType: String
        let expiresOn: Date
        let scopes: Set<Scope>
        let declinedScopes: Set<Scope>
        let account: Account
        let tenantProfile: TenantProfile?
        let idToken: String?
        let source: Source
        let persistence: Persistence
        let correlationID: UUID?
    }
}

extension AuthenticationResult: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Where it came from and until when it is valid; no secret, no person.
    public var description: String {
        "AuthenticationResult(source: \(source.rawValue), expiresOn: \(expiresOn), scopes: \(scopes.count))"
    }

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// Shows no secret, so that `dump` reveals none.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: ["source": source, "expiresOn": expiresOn, "scopes": scopes, "persistence": persistence]
        )
    }
}
