// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// One account's credentials as they were read: the bytes to compare with, and what they mean.
package final class CredentialSnapshot: Sendable {
    package let key: CacheKey
    /// `nil` while the credentials could not be written and live in memory only.
    package let record: CacheRecord?
    package let credentials: AccountCredentials
    package let account: Account
    /// Whether they are in the cache; else why not.
    package let persistence: AuthenticationResult.Persistence
    /// What a program is given for each access token while it is good and nothing was declined.
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

    /// What the credentials can do for a request; the way of a hit, which copies nothing.
    func selection(for request: CredentialRequest, at now: Int64) -> CredentialSelection {
        credentials.selection(for: request, at: now)
    }

    /// A token of these credentials as it is handed out from the cache.
    func result(for token: CachedAccessToken) -> AuthenticationResult? {
        credentials.accessTokens.firstIndex { $0 === token }.map { results[$0] }
    }

    /// What counts against the memory that is kept.
    var size: Int { record?.bytes.count ?? 0 }
}

extension AuthenticationResult {
    /// Hands out a token of `credentials`.
    init(
        _ token: CachedAccessToken,
        of credentials: AccountCredentials,
        _ account: Account,
        declinedScopes: Set<Scope> = [],
        source: Source,
        persistence: Persistence,
        correlationID: UUID? = nil
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
            correlationID: correlationID
        )
    }
}
