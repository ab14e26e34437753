// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// One account's credentials as they were read: the bytes for comparison, and their decoded form.
package final class CredentialSnapshot: Sendable {
    package let key: CacheKey
    /// The record; `nil` while the credentials could not be written and exist in memory only.
    package let record: CacheRecord?
    package let credentials: AccountCredentials
    package let account: Account
    /// Whether the credentials are in the cache, and if not, why.
    package let persistence: AuthenticationResult.Persistence
    /// The result for each access token, handed out while the token is valid and no scope was declined.
    private let results: [AuthenticationResult]

    init(
        key: CacheKey,
        record: CacheRecord?,
        credentials: AccountCredentials,
        persistence: AuthenticationResult.Persistence = .persisted
    ) {
        self.key = key
        self.record = record
        self.credentials = credentials
        self.persistence = persistence
        account = credentials.account
        results = credentials.accessTokens.map { [account] token in
            AuthenticationResult(token, of: credentials, account, source: .cache, persistence: persistence)
        }
    }

    /// Selects the credentials for a request. This is the path of a cache hit, which copies nothing.
    func selection(for request: CredentialRequest, at now: Int64) -> CredentialSelection {
        credentials.selection(for: request, at: now)
    }

    /// The result for a token of these credentials that comes from the cache.
    func result(for token: CachedAccessToken) -> AuthenticationResult? {
        credentials.accessTokens.firstIndex { $0 === token }.map { results[$0] }
    }

    /// The bytes that count toward the memory limit.
    var size: Int { record?.bytes.count ?? 0 }
}

extension AuthenticationResult {
    /// Creates the result that hands out a token of `credentials`.
    init(
        _ token: CachedAccessToken,
        of credentials: AccountCredentials,
        _ account: Account,
        declinedScopes: Set<Scope> = [],
        source: Source,
        persistence: Persistence,
        correlationID: UUID? = nil,
        expiredFor: Duration? = nil,
        isExtendedLifetimeToken: Bool = false
    ) {
        let index = credentials.profiles.firstIndex { $0.realm == token.realm }
        self.init(
            accessToken: token.secret,
            tokenType: token.tokenType,
            expiresOn: Date(timeIntervalSince1970: Double(token.expiresOn)),
            scopes: token.scopeSet,
            declinedScopes: declinedScopes,
            account: account,
            tenantProfile: index.map { account.tenantProfiles[$0] } ?? account.tenantProfiles.first,
            idToken: index.flatMap { credentials.profiles[$0].idToken },
            source: source,
            persistence: persistence,
            correlationID: correlationID,
            expiredFor: expiredFor,
            isExtendedLifetimeToken: isExtendedLifetimeToken
        )
        if let members = token.additionalMembers { self = having(additionalMembers: members) }
    }
}
