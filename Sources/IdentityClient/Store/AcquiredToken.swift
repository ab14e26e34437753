// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// An acquired access token and its source.
struct AcquiredToken: Sendable {
    let snapshot: CredentialSnapshot
    let token: CachedAccessToken
    let source: AuthenticationResult.Source
    var correlationID: UUID?
    /// The seconds since the token expired; `nil` for a valid token.
    var expiredFor: Int64?
    /// Whether the provider allows the use of the expired token in an outage.
    var isInExtendedLifetime = false
}

extension AuthenticationResult {
    init(_ acquired: AcquiredToken, requested: Set<Scope>, rule: ScopeRule) {
        let (token, snapshot) = (acquired.token, acquired.snapshot)
        self.init(
            token,
            of: snapshot.credentials,
            snapshot.account,
            declinedScopes: Self.declined(requested, token: token, rule: rule),
            source: acquired.source,
            persistence: snapshot.persistence,
            correlationID: acquired.correlationID,
            expiredFor: acquired.expiredFor.map { .seconds($0) },
            isExtendedLifetimeToken: acquired.isInExtendedLifetime
        )
    }

    private static func declined(_ requested: Set<Scope>, token: CachedAccessToken, rule: ScopeRule) -> Set<Scope> {
        // A token with declined scopes answers only a request for granted scopes, or for the same scopes as before.
        guard !token.declinesNothing else { return [] }
        var declined: Set<Scope> = []
        for scope in requested {
            if !token.covers(scope, by: rule) { declined.insert(scope) }
        }
        return declined
    }
}
