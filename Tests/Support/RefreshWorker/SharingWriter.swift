// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityKeyring
import IdentityMSALCaches
import IdentityMSALKeyring

/// Stores answers to refreshes in a file, or after `keyring:` in the item beside a file, that another program writes at the same time, as the library does: a new
/// refresh token, and an access token for a scope of its own each time. Prints a line for each.
struct SharingWriter {
    let file: String
    let clientID: String
    let others: String
    let count: Int

    func run() async throws {
        let client = ClientID(rawValue: clientID)
        let others = FileTokenCache(directory: others)
        let cache: any TokenCache =
            if file.hasPrefix("keyring:") {
                SharedMSALKeyringCache(
                    Self.item(beside: String(file.dropFirst(8))),
                    clientID: client,
                    keyring: KeyringTokenCache(applicationName: "Test"),
                    others: others
                )
            } else {
                try SharedMSALCache(.file(file), clientID: client, fallback: others)
            }
        let group = CacheGroup.application(ClientID(rawValue: clientID))
        let store = CredentialStore(cache: cache, group: group, clientID: clientID)
        guard let account = try await store.allSnapshots().snapshots.values.first?.credentials else {
            throw NoAccount()
        }
        let id = RecordID(partition: account.partition, accountID: account.accountID.rawValue)
        for _ in 0..<count {
            let name = UUID().uuidString.lowercased()
            let now = Int64(Date.now.timeIntervalSince1970)
            _ = try await store.update(id) { current in
                guard var new = current else { throw NoAccount() }
                new.refreshToken?.secret = "swift-\(name)"
                new.refreshToken?.modifiedAt = now
                new.accessTokens.append(
                    CachedAccessToken(
                        secret: "swift-token-\(name)",
                        realm: account.accountID.rawValue.split(separator: ".").last.map(String.init) ?? "",
                        scopes: [name],
                        requestedScopes: [name],
                        tokenType: "Bearer",
                        cachedAt: now,
                        expiresOn: now + 3600,
                        rule: ScopeRule(ignoresCase: true)
                    )
                )
                return new
            }
            print(name)
            // The time that a provider takes to answer. Without it the lock would hardly ever be free when MSAL Python, which
            // asks four times a second, looks.
            try await Task.sleep(for: .milliseconds(Int.random(in: 100...300)))
        }
    }

    /// The item of Tests/Support/msal/program.py.
    static func item(beside file: String) -> MSALKeyringItem {
        .python(file: file, schema: "com.contoso.tokens", attributes: ["product": "desk"])
    }

    struct NoAccount: Error {}
}
