// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import GRDB
import IdentityClient
import IdentityTesting
import SQLiteTokenCache
import Testing

@Suite(.serialized) final class SQLiteTokenCacheTests {
    private let directory = FileManager.default.temporaryDirectory.appendingPathComponent("sqlite-\(UUID().uuidString)")
    private var path: String { directory.appendingPathComponent("tokens.sqlite").path }

    init() throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: directory)
    }

    @Test(.timeLimit(.minutes(5))) func conforms() async throws {
        let path = path
        try await TokenCacheConformance(costRecords: 1000) { try SQLiteTokenCache(path: path) }.run()
    }

    /// `SQLITE_CACHE_REPETITIONS` says how often; once unless told.
    @Test(.timeLimit(.minutes(30))) func conformsAcrossProcesses() async throws {
        let path = path
        let repetitions = ProcessInfo.processInfo.environment["SQLITE_CACHE_REPETITIONS"].flatMap(Int.init) ?? 1
        for _ in 0..<repetitions {
            try await TokenCacheConformance { try SQLiteTokenCache(path: path) }
                .runAcrossProcesses([try Self.worker(), path])
        }
    }

    @Test func isForItsOwnerAlone() async throws {
        _ = try SQLiteTokenCache(path: path)
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    @Test func saysThatItCannotBeOpened() async throws {
        #expect(throws: DatabaseError.self) { try SQLiteTokenCache(path: "\(directory.path)/missing/tokens.sqlite") }
    }

    /// The executable lies beside the tests.
    private static func worker() throws -> String {
        let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") }.map { URL(fileURLWithPath: $0) } ?? own
        return bundle.deletingLastPathComponent().appendingPathComponent("sqlite-cache-worker").path
    }
}
