// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import GRDB
import Glibc
import IdentityCacheTesting
import IdentityClient
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

    /// `SQLITE_CACHE_REPETITIONS` sets the number of repetitions, 1 by default; `SQLITE_CACHE_KILLS` sets how many
    /// processes die at random moments in each repetition, 10 by default.
    @Test(.timeLimit(.minutes(60))) func conformsAcrossProcesses() async throws {
        let path = path
        for _ in 0..<Self.number("SQLITE_CACHE_REPETITIONS", or: 1) {
            let times = try await TokenCacheConformance { try SQLiteTokenCache(path: path) }
                .runAcrossProcesses(
                    [try Self.worker(), path],
                    randomDeaths: Self.number("SQLITE_CACHE_KILLS", or: 10)
                )
            for line in times { print(line) }
        }
    }

    @Test func findsOutWhetherItCouldWriteAndStoresNothing() async throws {
        let cache = try SQLiteTokenCache(path: path)
        let group = try CacheGroup("suite")
        try await cache.checkWritable(in: group)
        try await cache.checkWritable(in: group)
        let database = try DatabaseQueue(path: path)
        #expect(try await database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM token_record") } == 0)
        // Plays another program that has damaged the database.
        try await database.write { try $0.execute(sql: "DROP TABLE token_record") }
        let error = await #expect(throws: AuthenticationError.self) { try await cache.checkWritable(in: group) }
        #expect(error?.family == .cache)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can mount")) func saysBeforehandThatTheDiskIsFull() async throws {
        let disk = directory.appendingPathComponent("disk").path
        try FileManager.default.createDirectory(atPath: disk, withIntermediateDirectories: false)
        try #require(mount("tmpfs", disk, "tmpfs", 0, "size=256k,mode=700") == 0)
        defer { umount2(disk, Int32(MNT_DETACH)) }
        let cache = try SQLiteTokenCache(path: "\(disk)/tokens.sqlite")
        let group = try CacheGroup("suite")
        let filler = open("\(disk)/filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        let page = [UInt8](repeating: 0, count: 4096)
        while write(filler, page, page.count) > 0 {}
        close(filler)
        let error = await #expect(throws: AuthenticationError.self) { try await cache.checkWritable(in: group) }
        #expect(error?.code == .cacheFull)
        try FileManager.default.removeItem(atPath: "\(disk)/filler")
        try await cache.checkWritable(in: group)
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

    /// Returns the path of the worker, which is next to the tests.
    private static func worker() throws -> String {
        let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") }.map { URL(fileURLWithPath: $0) } ?? own
        return bundle.deletingLastPathComponent().appendingPathComponent("sqlite-cache-worker").path
    }
}
