// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityTestSupport
import Testing

@testable import IdentityClient

/// The reservation of a write in files. `HappeningTests` fills disks.
@Suite(.timeLimit(.minutes(1)))
struct FileReservationTests {
    private let directory: TemporaryDirectory
    private let cache: FileTokenCache
    private let key: CacheKey
    private let old = CacheRecord(bytes: Array("old".utf8))

    init() throws {
        directory = try TemporaryDirectory()
        cache = FileTokenCache(directory: "\(directory.path)/cache", lockTimeout: .milliseconds(50))
        key = CacheKey(group: try CacheGroup("suite"), kind: .account, name: "a")
    }

    private func path(_ name: String) -> String { "\(directory.path)/cache/suite/\(name)" }

    /// The files that are no records and no locks.
    private func temporaryFiles() throws -> [String] {
        try directory.names(in: "cache/suite").filter { $0.hasPrefix(".new-") }
    }

    private func reserved(_ bytes: Int = 20_000) async throws -> any TokenCacheReservation {
        #expect(try await cache.replace(nil, with: old, for: key))
        return try #require(try await cache.reserve(bytes, for: key))
    }

    @Test func writesIntoTheReservedFile() async throws {
        let reservation = try await reserved()
        let name = try #require(try temporaryFiles().first)
        var status = stat()
        try CallFailed.check(unsafe stat(path(name), &status), "stat")
        #expect(status.st_size >= 20_000 && status.st_blocks * 512 >= 20_000 && status.st_mode & 0o777 == 0o600)
        let new = CacheRecord(bytes: Array("new".utf8))
        #expect(try await cache.replace(old, with: new, for: key))
        var written = stat()
        try CallFailed.check(unsafe stat(path("account-a.json"), &written), "stat")
        #expect(written.st_ino == status.st_ino && written.st_size == new.bytes.count)
        #expect(written.st_blocks * 512 <= 4096, "What the record does not need is free again.")
        await reservation.release()
        #expect(try temporaryFiles().isEmpty)
        #expect(try await FileTokenCache(directory: "\(directory.path)/cache").record(for: key) == new)
    }

    @Test(arguments: [true, false])
    func removesAFileThatNoWriteHasUsed(isReleased: Bool) async throws {
        var reservation: (any TokenCacheReservation)? = try await reserved()
        #expect(try temporaryFiles().count == 1)
        if isReleased { await reservation?.release() }
        reservation = nil
        try await wait { try temporaryFiles().isEmpty }
        #expect(try await cache.replace(old, with: CacheRecord(bytes: Array("new".utf8)), for: key))
    }

    @Test func keepsTheFileForItsOwnRecord() async throws {
        let reservation = try await reserved()
        let mine = try temporaryFiles()
        let other = CacheKey(group: key.group, kind: .account, name: "b")
        #expect(try await cache.replace(nil, with: old, for: other))
        #expect(try temporaryFiles() == mine && mine.count == 1)
        await reservation.release()
    }

    @Test func writesALongerRecordAllTheSame() async throws {
        let reservation = try await reserved(4096)
        let long = CacheRecord(bytes: [UInt8](repeating: 7, count: 300_000))
        #expect(try await cache.replace(old, with: long, for: key))
        await reservation.release()
        #expect(try temporaryFiles().isEmpty)
        #expect(try await cache.record(for: key) == long)
    }

    /// An older version of the library takes it for the file of a dead writer.
    @Test func writesWithoutAFileThatWasRemoved() async throws {
        let reservation = try await reserved()
        for name in try temporaryFiles() { try CallFailed.check(unsafe unlink(path(name)), "unlink") }
        let new = CacheRecord(bytes: Array("new".utf8))
        #expect(try await cache.replace(old, with: new, for: key))
        await reservation.release()
        #expect(try temporaryFiles().isEmpty)
        #expect(try await cache.record(for: key) == new)
    }

    @Test func keepsTheFileOfALivingWriterAndRemovesThatOfADeadOne() async throws {
        let reservation = try await reserved()
        let (mine, dead) = (try #require(try temporaryFiles().first), ".new-\(try stripe)-dead")
        try CallFailed.check(unsafe close(open(path(dead), O_CREAT | O_WRONLY, 0o600)), "open")
        let past = [timespec(tv_sec: 1_000_000_000, tv_nsec: 0), timespec(tv_sec: 1_000_000_000, tv_nsec: 0)]
        for name in [mine, dead, ".lock-\(try stripe)"] {
            try CallFailed.check(unsafe utimensat(AT_FDCWD, path(name), past, 0), "utimensat")
        }
        let other = FileTokenCache(directory: "\(directory.path)/cache")
        #expect(try await other.replace(old, with: old, for: key))
        #expect(try temporaryFiles() == [mine])
        await reservation.release()
    }

    @Test func namesTheProcessThatHoldsTheLock() async throws {
        #expect(try await cache.replace(nil, with: old, for: key))
        let lock = try heldLock()
        let error = try await expectError(.cacheBusy) { try await cache.reserve(20_000, for: key) }
        #expect(error.message.contains("Process \(getpid()) has held the lock"))
        #expect(try temporaryFiles().isEmpty)
        lock.end()
        #expect(try await cache.reserve(20_000, for: key) != nil)
    }

    /// Other records of the same lock are written while a write is reserved.
    @Test func keepsNoOtherWriterWaiting() async throws {
        let reservation = try await reserved()
        let other = FileTokenCache(directory: "\(directory.path)/cache", lockTimeout: .zero)
        #expect(try await other.replace(old, with: CacheRecord(bytes: Array("other".utf8)), for: key))
        await reservation.release()
    }

    /// Without a check, the system would end the process by a signal.
    @Test func saysThatTheFileSizeLimitIsTooLow() async {
        await #expect(processExitsWith: .success) {
            let directory = try TemporaryDirectory()
            let cache = FileTokenCache(directory: directory.path)
            let key = CacheKey(group: try CacheGroup("suite"), kind: .account, name: "a")
            let old = CacheRecord(bytes: Array("old".utf8))
            #expect(try await cache.replace(nil, with: old, for: key))
            var limit = rlimit()
            _ = unsafe getrlimit(Int32(RLIMIT_FSIZE.rawValue), &limit)
            var low = rlimit(rlim_cur: 1024, rlim_max: limit.rlim_max)
            _ = unsafe setrlimit(Int32(RLIMIT_FSIZE.rawValue), &low)
            let error = try await expectError(.cacheFull) { try await cache.reserve(20_000, for: key) }
            let long = CacheRecord(bytes: [UInt8](repeating: 7, count: 2000))
            try await expectError(.cacheFull) { try await cache.replace(old, with: long, for: key) }
            _ = unsafe setrlimit(Int32(RLIMIT_FSIZE.rawValue), &limit)
            #expect(error.message.contains("ulimit -f"))
            #expect(try directory.names(in: "suite").filter { $0.hasPrefix(".new-") }.isEmpty)
        }
    }

    @Test func reservesWhatTheEncryptedRecordNeeds() async throws {
        let encrypted = EncryptedTokenCache(cache, key: try EncryptionKey([UInt8](repeating: 1, count: 32)))
        #expect(try await encrypted.replace(nil, with: old, for: key))
        let measured = MeasuredTokenCache(base: encrypted, telemetry: nil)
        let reservation = try #require(try await measured.reserve(9000, for: key))
        let name = try #require(try temporaryFiles().first)
        var status = stat()
        try CallFailed.check(unsafe stat(path(name), &status), "stat")
        #expect(status.st_size == 9041)
        #expect(try await encrypted.replace(old, with: CacheRecord(bytes: Array("new".utf8)), for: key))
        await reservation.release()
        #expect(try temporaryFiles().isEmpty)
    }

    private func heldLock() throws -> HeldLock {
        guard let directory = try SecureDirectory.open("\(directory.path)/cache", "suite"),
            let lock = try FileLock.take(stripe, in: directory)
        else { throw AuthenticationError(.cacheBusy, "The test has it to itself.") }
        return HeldLock(lock)
    }

    private var stripe: Int {
        get throws { FileCacheName.stripe(try FileCacheName.record(key)) }
    }
}
