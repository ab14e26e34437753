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

    /// `SQLITE_CACHE_REPETITIONS` says how often, once unless told; `SQLITE_CACHE_KILLS` how many processes die at
    /// random moments each time, 10 unless told.
    @Test(.timeLimit(.minutes(60))) func conformsAcrossProcesses() async throws {
        let path = path
        for _ in 0..<Self.number("SQLITE_CACHE_REPETITIONS", or: 1) {
            try await TokenCacheConformance { try SQLiteTokenCache(path: path) }
                .runAcrossProcesses(
                    [try Self.worker(), path],
                    randomDeaths: Self.number("SQLITE_CACHE_KILLS", or: 10)
                )
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

    private static func number(_ variable: String, or usual: Int) -> Int {
        ProcessInfo.processInfo.environment[variable].flatMap(Int.init) ?? usual
    }

    /// The executable lies beside the tests.
    private static func worker() throws -> String {
        let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") }.map { URL(fileURLWithPath: $0) } ?? own
        return bundle.deletingLastPathComponent().appendingPathComponent("sqlite-cache-worker").path
    }
}
