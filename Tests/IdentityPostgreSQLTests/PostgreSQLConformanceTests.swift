// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityCacheTesting
import IdentityClient
import IdentityPostgreSQL
import Testing

/// The rules of every cache, and those of every cache that processes share.
@Suite(.enabled(if: clusterScript != nil, "run Scripts/test-postgresql"), .serialized)
struct PostgreSQLConformanceTests {
    @Test(.timeLimit(.minutes(3)))
    func keepsWhatEveryCachePromises() async throws {
        let server = try TestServer()
        try await TokenCacheConformance(costRecords: 2000) { PostgreSQLTokenCache(connectionString: server.connection) }
            .run()
    }

    @Test(.timeLimit(.minutes(3)))
    func keepsItWithEncryptedRecords() async throws {
        let server = try TestServer()
        let key = try EncryptionKey((0..<32).map { _ in UInt8.random(in: .min ... .max) })
        let conformance = TokenCacheConformance(costRecords: nil) {
            EncryptedTokenCache(PostgreSQLTokenCache(connectionString: server.connection), key: key)
        }
        // Two caches take what one does, and 200 callers of one wait for each other for ten seconds.
        for rule in TokenCacheConformance.Rule.all where rule != .increments { try await conformance.run(rule) }
    }

    @Test(.timeLimit(.minutes(5)))
    func keepsItAcrossProcesses() async throws {
        let server = try TestServer()
        let lines = try await TokenCacheConformance { PostgreSQLTokenCache(connectionString: server.connection) }
            .runAcrossProcesses([try workerPath(), "postgresql", server.connection])
        for line in lines { print(line) }
    }
}
