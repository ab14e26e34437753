// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// An access token, and what is known about it.
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
        /// They could not be written and live until the program ends; another write is tried with the next acquisition.
        case failed(AuthenticationError)
    }

    /// The access token. A secret: send it to the API it is for, and nowhere else.
    public let accessToken: String

    /// The scheme of the `Authorization` header, spelled `Bearer` whatever case the server used.
    public let tokenType: String

    /// When the token expires, by this computer's clock.
    public let expiresOn: Date

    /// The scopes that were granted. They may be more than were asked for.
    public let scopes: Set<Scope>

    /// The scopes that were asked for and not granted.
    public let declinedScopes: Set<Scope>

    /// Whose token it is.
    public let account: Account

    /// How the tenant that issued it knows the person; `nil` where there was no ID token.
    public let tenantProfile: TenantProfile?

    /// The ID token as it came, validated when it came; `nil` where there was none.
    public let idToken: String?

    /// Where the token came from.
    public let source: Source

    /// Whether the tokens are in the cache.
    public let persistence: Persistence

    /// Names the request on both sides, for support; `nil` for a token from the cache.
    public let correlationID: UUID?

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
        self.accessToken = accessToken
        self.tokenType = tokenType
        self.expiresOn = expiresOn
        self.scopes = scopes
        self.declinedScopes = declinedScopes
        self.account = account
        self.tenantProfile = tenantProfile
        self.idToken = idToken
        self.source = source
        self.persistence = persistence
        self.correlationID = correlationID
    }

    /// The value of the `Authorization` header. A secret.
    public var authorizationHeader: String { "\(tokenType) \(accessToken)" }
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
