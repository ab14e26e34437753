// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// One account's credentials as they were read: the bytes to compare with, and what they mean.
package final class CredentialSnapshot: Sendable {
    package let key: CacheKey
    /// `nil` while the credentials could not be written and live in memory only.
    package let record: CacheRecord?
    package let credentials: AccountCredentials
    package let account: Account

    init(key: CacheKey, record: CacheRecord?, credentials: AccountCredentials) {
        self.key = key
        self.record = record
        self.credentials = credentials
        account = credentials.account
    }

    /// What the credentials can do for a request; the way of a hit, which copies nothing.
    func selection(for request: CredentialRequest, at now: Int64) -> CredentialSelection {
        credentials.selection(for: request, at: now)
    }

    /// How the tenant that issued a token knows the person, and its ID token.
    func profile(for token: CachedAccessToken) -> (TenantProfile?, idToken: String?) {
        guard let index = credentials.profiles.firstIndex(where: { $0.realm == token.realm }) else {
            return (account.tenantProfiles.first, nil)
        }
        return (account.tenantProfiles[index], credentials.profiles[index].idToken)
    }

    /// What counts against the memory that is kept.
    var size: Int { record?.bytes.count ?? 0 }
}
