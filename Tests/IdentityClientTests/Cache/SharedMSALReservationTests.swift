// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityTestSupport
import Testing

@testable import IdentityClient
@testable import IdentityMSALCaches

/// The reservation of a write in the file of other programs.
@Suite(.timeLimit(.minutes(1)))
struct SharedMSALReservationTests {
    private let directory: TemporaryDirectory
    private let cache: SharedMSALCache
    private let key: CacheKey
    private let record: CacheRecord

    init() async throws {
        directory = try TemporaryDirectory()
        let client: ClientID = "11111111-2222-3333-4444-555555555555"
        let file = "\(directory.path)/msal.json"
        try Data(MSALSamples.family.utf8).write(to: URL(fileURLWithPath: file))
        try #require(unsafe chmod(file, 0o600) == 0)
        cache = try SharedMSALCache(
            .file(file),
            clientID: client,
            fallback: FileTokenCache(directory: "\(directory.path)/others"),
            lockTimeout: .milliseconds(50)
        )
        let records = try await cache.records(of: .account, in: .application(client))
        (key, record) = try #require(records.first.map { ($0.key, $0.value) })
    }

    private func reservedFiles() throws -> [String] {
        try directory.names(in: "").filter { $0.hasPrefix(".msal.json.identity-new-") }
    }

    @Test func writesIntoTheReservedFileAndLeavesTheLockFree() async throws {
        let reservation = try #require(try await cache.reserve(20_000, for: key))
        let name = try #require(try reservedFiles().first)
        var status = stat()
        try CallFailed.check(unsafe stat("\(directory.path)/\(name)", &status), "stat")
        #expect(status.st_size > 20_000)
        #expect(try directory.names(in: "").contains("msal.json.lockfile") == false)
        var credentials = try AccountCredentials(decoding: record.bytes, rule: Authority.scopeRule(forPartition:))
        credentials.refreshToken?.secret = "RT2"
        #expect(try await cache.replace(record, with: CacheRecord(bytes: credentials.encoded()), for: key))
        var written = stat()
        try CallFailed.check(unsafe stat("\(directory.path)/msal.json", &written), "stat")
        #expect(written.st_ino == status.st_ino)
        await reservation.release()
        #expect(try directory.names(in: "") == ["msal.json"])
    }

    @Test func removesAFileThatNoWriteHasUsedAndThatOfADeadProcess() async throws {
        let dead = "\(directory.path)/.msal.json.identity-new-dead"
        try CallFailed.check(unsafe close(open(dead, O_CREAT | O_WRONLY, 0o600)), "open")
        let reservation = try #require(try await cache.reserve(20_000, for: key))
        #expect(try reservedFiles().count == 1 && !reservedFiles().contains(".msal.json.identity-new-dead"))
        await reservation.release()
        #expect(try reservedFiles().isEmpty)
    }

    @Test func namesTheProgramThatHoldsTheLock() async throws {
        let lock = "\(directory.path)/msal.json.lockfile"
        try Data("\(getpid()) az".utf8).write(to: URL(fileURLWithPath: lock))
        let error = try await expectError(.cacheBusy) { try await cache.reserve(20_000, for: key) }
        #expect(error.message.contains("Process \(getpid()) has held the lock"))
        #expect(try reservedFiles().isEmpty)
    }
}
