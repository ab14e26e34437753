// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

extension PublicClientApplication {
    /// Returns what the cache holds about the accounts at this provider, without secrets and names, as JSON for a support
    /// case.
    ///
    /// For each account: its identifiers, its tenants, and of each token the scopes, the times and whether it is there.
    /// Only the listed members are written, so that no token, ID token, claim, username or display name is among them,
    /// whatever the cache holds. The identifiers of accounts and tenants are; a provider may use an email address for them.
    ///
    /// - Throws: The errors of ``allAccounts()``.
    public func supportReport() async throws -> String {
        let snapshots = try await environment.store.allSnapshots().snapshots.values.filter {
            environment.clouds.contain(partition: $0.credentials.partition)
        }
        let now = environment.clock.unixSeconds
        let accounts = snapshots.map { $0.supportReport(at: now) }.sorted { $0.sortKey < $1.sortKey }
        let report = JSONObject([
            ("generatedOn", .string(environment.clock.now.utcText)),
            ("authority", .string(configuration.authority.url)),
            ("clientID", .string(configuration.clientID.rawValue)),
            ("cache", .string("\(type(of: configuration.cache))")),
            ("accounts", .array(accounts.map { .object($0) })),
        ])
        return String(decoding: report.serialized(), as: UTF8.self)
    }
}

extension JSONObject {
    /// The identifier and the client, so that the order is the same each time.
    fileprivate var sortKey: String { (string("id") ?? "") + "|" + (string("clientID") ?? "") }
}
