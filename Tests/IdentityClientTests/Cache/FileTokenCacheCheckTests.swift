// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import Testing

/// The check whether records can be written. `UnwritableTests` mounts full and read-only disks.
@Suite(.timeLimit(.minutes(1)))
struct FileTokenCacheCheckTests {
    private let directory: TemporaryDirectory
    private let group: CacheGroup

    init() throws {
        directory = try TemporaryDirectory()
        group = try CacheGroup("suite")
    }

    private func cache(_ path: String = "cache") -> FileTokenCache {
        FileTokenCache(directory: "\(directory.path)/\(path)")
    }

    /// The files that exist, except locks, which are never removed.
    private func names() throws -> [String] {
        try directory.names(in: "cache/suite").filter { !$0.hasPrefix(".lock-") }
    }

    @Test func leavesNothingButTheDirectory() async throws {
        try await cache().checkWritable(in: group)
        #expect(try names().isEmpty)
        #expect(try await cache().records(of: .lease, in: group).isEmpty)
    }

    /// Each instance opens its own lock, as separate processes do.
    @Test func failsForNoneOfManyWhoAskAtOnce() async throws {
        try await withThrowingTaskGroup { tasks in
            for _ in 0..<16 {
                tasks.addTask { [self] in
                    for _ in 0..<20 { try await cache().checkWritable(in: group) }
                }
            }
            try await tasks.waitForAll()
        }
        #expect(try names().isEmpty)
    }

    @Test func saysWhatIsInTheWay() async throws {
        try Data().write(to: URL(filePath: "\(directory.path)/file"))
        let error = await #expect(throws: AuthenticationError.self) {
            try await cache("file/cache").checkWritable(in: group)
        }
        #expect(error?.code == .cachePermissions && error?.message.contains("\(directory.path)/file") == true)
    }
}
