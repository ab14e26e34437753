// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Testing

@testable import IdentityPostgreSQL

/// PgBouncer between the programs and the server.
@Suite(.enabled(if: clusterScript != nil, "run Scripts/test-postgresql"), .serialized, .timeLimit(.minutes(1)))
struct PoolerTests {
    private let one = CacheRecord("one")

    /// In both orders in which it gives sessions out.
    @Test(arguments: ["server_round_robin = 0", "server_round_robin = 1"])
    func namesTheSettingThatSwapsSessions(_ order: String) async throws {
        let server = try TestServer(own: true)
        let port = try server.pooler("transaction", order)
        let cache = PostgreSQLTokenCache(connectionString: server.connection + " port=\(port)")
        let key = try randomKey()
        for _ in 0..<3 {
            let error = try await authenticationError { try await cache.replace(nil, with: one, for: key) }
            #expect(error.code == .cache && error.message.contains("pool_mode = session"), "\(error.message)")
        }
        // Other programs get sessions in which nothing was set.
        for _ in 0..<3 {
            let settings = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
            let found = try TestServer.command([
                "env", "PGPASSWORD=secret", "psql", "-h", "127.0.0.1", "-p", port, "-U", "worker", "-d", "tokens",
                "-Atc",
                "SHOW search_path; SHOW statement_timeout; \(settings)",
            ])
            #expect(found.hasPrefix("\"$user\", public\n0\n"), "\(found)")
        }
    }

    @Test func usesAPoolerThatKeepsSessions() async throws {
        let server = try TestServer(own: true)
        let cache = PostgreSQLTokenCache(
            connectionString: server.connection + " port=\(try server.pooler("session", ""))"
        )
        let key = try randomKey()
        #expect(try await cache.replace(nil, with: one, for: key))
        let hints = try #require(cache.changes(in: key.group))
        let anything = CacheKey(group: key.group, kind: .account, name: String(repeating: "0", count: 64))
        for await hint in hints {
            if hint == key { break }
            guard hint == anything else { continue }
            #expect(
                try await PostgreSQLTokenCache(connectionString: server.connection).replace(one, with: nil, for: key)
            )
        }
        #expect(try await cache.record(for: key) == nil)
    }
}
