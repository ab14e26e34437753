// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import IdentityClient
import OAuthWire

/// One reading of a shared cache: what the client has in it. It never changes.
package struct MSALReading: Sendable {
    let blob: MSALBlob
    let accounts: [String: MSALAccount]
    /// The client's accounts as records, by the names of their keys.
    package let records: [String: CacheRecord]

    /// - Parameter old: The reading before. An unchanged account keeps its array, so that its reader need not decode it again.
    init(_ blob: MSALBlob, of clientID: ClientID, after old: MSALReading? = nil) {
        let accounts =
            if let old, old.blob == blob { old.accounts } else { blob.accounts(of: clientID.rawValue) }
        var records: [String: CacheRecord] = [:]
        for (name, account) in accounts {
            records[name] =
                old?.accounts[name] == account ? old?.records[name] : CacheRecord(bytes: account.credentials.encoded())
        }
        (self.blob, self.accounts, self.records) = (blob, accounts, records)
    }

    /// Returns the content after a change of one account; `nil` if the stored account is not `expected`.
    ///
    /// - Parameter new: The credentials; `nil` to sign the client out.
    /// - Throws: `.cache` if a section is something else than a section.
    func replacing(
        _ expected: CacheRecord?,
        with new: AccountCredentials?,
        under name: String
    ) throws -> MSALBlob? {
        guard records[name] == expected else { return nil }
        try blob.checkMayBeWritten()
        var blob = blob
        if let new {
            blob.write(new, over: accounts[name])
        } else if let account = accounts[name] {
            blob.signOut(account.name)
        }
        return blob
    }
}

extension AccountCredentials {
    /// Decodes a record that the schema of shared caches can express; returns `nil` for any other record, which is kept beside
    /// the shared cache.
    package init?(shareable record: CacheRecord, for key: CacheKey) {
        guard
            let credentials = try? AccountCredentials(decoding: record.bytes, rule: Authority.scopeRule(forPartition:)),
            credentials.version == AccountCredentials.currentVersion, credentials.unknown.isEmpty,
            credentials.deviceSecret == nil
        else { return nil }
        let name = MSALAccountName(credentials)
        guard name.isShareable, name.name == key.name else { return nil }
        self = credentials
    }

    /// Whether the account of `record` is worth a try instead of that of `kept`, because the provider has refused the kept refresh
    /// token and the other one is not the same.
    package static func isOvertaken(_ kept: CacheRecord, by record: CacheRecord) -> Bool {
        // Without the name of the refusals the record need not be decoded.
        guard kept.bytes.contains(refusals), let token = decoded(kept)?.refreshToken, !token.refusals.isEmpty,
            let other = decoded(record)?.refreshToken
        else { return false }
        return !WireText.areSame(token.secret, other.secret)
    }

    /// Whether `record` has a refresh token, and another one than `digest` names.
    package static func hasRefreshToken(in record: CacheRecord, otherThan digest: String) -> Bool {
        decoded(record)?.refreshToken.map { MSALAccount.digest($0.secret) != digest } ?? false
    }

    /// Returns the name of the refresh token that a sign-in has lost from `old` to `new`, because the provider took it back for
    /// good; `nil` if `new` has a refresh token or is another sign-in.
    ///
    /// - Parameter lost: The name of the token that `old` had lost before.
    package static func lostRefreshToken(from old: CacheRecord?, to new: CacheRecord, after lost: String?) -> String? {
        guard let old = old.flatMap(decoded), let new = decoded(new), new.refreshToken == nil,
            WireText.areSame(old.signInID, new.signInID)
        else { return nil }
        return old.refreshToken.map { MSALAccount.digest($0.secret) } ?? lost
    }

    private static func decoded(_ record: CacheRecord) -> AccountCredentials? {
        try? AccountCredentials(decoding: record.bytes, rule: Authority.scopeRule(forPartition:))
    }

    private static let refusals = Array("\"refusals\"".utf8)
}
