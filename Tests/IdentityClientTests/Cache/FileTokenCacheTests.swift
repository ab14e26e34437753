// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityCacheTesting
import IdentityTestSupport
import IdentityTesting
import Synchronization
import Testing

@testable import IdentityClient

@Suite struct FileTokenCacheTests {
    let directory: TemporaryDirectory
    let cache: FileTokenCache
    let key: CacheKey
    let one = CacheRecord(bytes: Array("one".utf8))
    let two = CacheRecord(bytes: Array("two".utf8))

    init() throws {
        directory = try TemporaryDirectory()
        cache = FileTokenCache(directory: "\(directory.path)/cache")
        key = CacheKey(group: try CacheGroup("suite"), kind: .account, name: String(repeating: "a1", count: 32))
    }

    var file: String { "\(directory.path)/cache/suite/account-\(key.name).json" }

    /// The cost among 10,000 records is measured in memory, because syncing them to a disk takes minutes.
    @Test(.timeLimit(.minutes(5))) func conforms() async throws {
        let path = "\(directory.path)/cache"
        try await TokenCacheConformance(costRecords: nil) { FileTokenCache(directory: path) }.run()
    }

    @Test(.timeLimit(.minutes(5)), .enabled(if: unsafe access("/dev/shm", W_OK) == 0, "needs a file system in memory"))
    func costsNoMoreAmongTenThousandRecords() async throws {
        let memory = try TemporaryDirectory(in: "/dev/shm")
        let path = "\(memory.path)/cache"
        try await TokenCacheConformance { FileTokenCache(directory: path) }.run(.flatCost)
    }

    @Test func touchesNothingBeforeItWrites() async throws {
        #expect(try directory.names(in: "").isEmpty)
        #expect(try await cache.record(for: key) == nil)
        #expect(try await cache.records(of: .account, in: key.group).isEmpty)
        #expect(try await cache.replace(one, with: nil, for: key) == false)
        #expect(try await cache.replace(nil, with: nil, for: key))
        #expect(try directory.names(in: "").isEmpty)
    }

    @Test func keepsOneFilePerRecordAndNoTraceOfWriting() async throws {
        #expect(try await cache.replace(nil, with: one, for: key))
        #expect(try await cache.replace(one, with: two, for: key))
        let names = try directory.names(in: "cache/suite")
        #expect(names.filter { !$0.hasPrefix(".lock-") } == ["account-\(key.name).json"])
        #expect(names.count == 2)
        #expect(FileManager.default.contents(atPath: file) == Data("two".utf8))
    }

    @Test func returnsTheSameArrayWhileTheFileIsUnchanged() async throws {
        #expect(try await cache.replace(nil, with: one, for: key))
        let reader = FileTokenCache(directory: "\(directory.path)/cache")
        let first = try #require(try await reader.record(for: key))
        let settled = try await eventually {
            _ = try await reader.record(for: key)
            return reader.unchangedRecord(for: key) != nil
        }
        #expect(settled)
        let second = try #require(try await reader.record(for: key))
        #expect(address(first) == address(second))
    }

    @Test func knowsItsOwnWritesAtOnce() async throws {
        var stored: CacheRecord?
        for number in 0..<20 {
            let new = CacheRecord(bytes: Array("\(number + 10)".utf8))
            #expect(try await cache.replace(stored, with: new, for: key))
            stored = new
            let known = try #require(cache.unchangedRecord(for: key))
            #expect(address(known) == address(new))
        }
    }

    /// Writes of the same size within one tick of the kernel's clock, and on a reused inode.
    @Test func takesNobodyElsesWriteForItsOwn() async throws {
        let other = FileTokenCache(directory: "\(directory.path)/cache")
        for _ in 0..<50 {
            #expect(try await cache.replace(nil, with: one, for: key))
            #expect(try await other.replace(one, with: nil, for: key))
            #expect(try await other.replace(nil, with: two, for: key))
            #expect(try await cache.record(for: key) == two)
            #expect(try await cache.replace(two, with: nil, for: key))
        }
    }

    @Test func doesNotTrustAFingerprintOfAMomentAgo() async throws {
        #expect(try await cache.replace(nil, with: one, for: key))
        let other = "\(directory.path)/other"
        var new = two
        let distrusted = try await eventually { () async throws -> Bool in
            // Another process's write, without its wait for the disk, which may take longer than a moment.
            try Data(new.bytes).write(to: URL(filePath: other))
            try CallFailed.check(unsafe chmod(other, 0o600), "chmod")
            try CallFailed.check(unsafe rename(other, file), "rename")
            #expect(try await cache.record(for: key) == new)
            new = new == one ? two : one
            return cache.unchangedRecord(for: key) == nil  // unless this machine paused for 20 ms
        }
        #expect(distrusted)
    }

    @Test func knowsWhatIsNotThereWithoutOpeningAnything() async throws {
        #expect(try !cache.isAbsent(key), "there is no directory yet")
        #expect(try await cache.replace(nil, with: one, for: key))
        #expect(try !cache.isAbsent(key))
        #expect(try cache.isAbsent(key.lease))
        #expect(try await cache.replace(one, with: nil, for: key))
        #expect(try cache.isAbsent(key))
    }

    @Test func seesAChangeInPlace() async throws {
        #expect(try await cache.replace(nil, with: one, for: key))
        #expect(try await cache.record(for: key) == one)
        let handle = unsafe open(file, O_WRONLY)
        defer { close(handle) }
        let written = unsafe write(handle, "TWO", 3)
        #expect(written == 3)
        #expect(try await cache.record(for: key) == CacheRecord(bytes: Array("TWO".utf8)))
    }

    @Test func seesWhatAnotherProcessWrote() async throws {
        #expect(try await cache.replace(nil, with: one, for: key))
        #expect(
            try await eventually {
                _ = try await cache.record(for: key); return cache.unchangedRecord(for: key) != nil
            }
        )
        let other = FileTokenCache(directory: "\(directory.path)/cache")
        #expect(try await other.replace(one, with: two, for: key))
        #expect(cache.unchangedRecord(for: key) == nil)
        #expect(try await cache.record(for: key) == two)
        #expect(try await other.replace(two, with: nil, for: key))
        #expect(try await cache.record(for: key) == nil)
    }

    @Test func ignoresForeignFiles() async throws {
        #expect(try await cache.replace(nil, with: one, for: key))
        for name in [
            "account-a b.json", "account-.json", "account-x.json~", "account-x.corrupt-1", "notes.txt",
            "account-a.bak.json",
        ] {
            #expect(
                FileManager.default.createFile(
                    atPath: "\(directory.path)/cache/suite/\(name)",
                    contents: Data("x".utf8)
                )
            )
        }
        #expect(try await cache.records(of: .account, in: key.group) == [key: one])
    }

    @Test(arguments: ["", "../../etc", "a/b", "a.json", "ä", "a b", String(repeating: "a", count: 129)])
    func refusesNamesThatAreNoFileNames(name: String) async throws {
        let key = CacheKey(group: key.group, kind: .account, name: name)
        let error = await #expect(throws: AuthenticationError.self) { try await cache.record(for: key) }
        #expect(error?.code == .invalidArgument)
    }

    @Test func refusesRecordsAboveOneMebibyte() async throws {
        let large = CacheRecord(bytes: [UInt8](repeating: 7, count: (1 << 20) + 65))
        let error = await #expect(throws: AuthenticationError.self) {
            try await cache.replace(nil, with: large, for: key)
        }
        #expect(error?.code == .invalidArgument)
        #expect(try await cache.record(for: key) == nil)
        #expect(try directory.names(in: "cache/suite").allSatisfy { $0.hasPrefix(".lock-") })
    }

    @Test func setsARecordAsideWithoutDestroyingIt() async throws {
        #expect(try await cache.replace(nil, with: one, for: key))
        let path = try #require(try await cache.setAside(key, record: one))
        #expect(path.hasPrefix("\(file).corrupt-"))
        #expect(FileManager.default.contents(atPath: path) == Data("one".utf8))
        #expect(try permissions(path) == 0o600)
        #expect(try await cache.record(for: key) == nil)
        #expect(try await cache.records(of: .account, in: key.group).isEmpty)
        #expect(try await cache.replace(nil, with: two, for: key))
        let second = try await cache.setAside(key, record: two)
        #expect(second != path)
        #expect(FileManager.default.contents(atPath: path) == Data("one".utf8))
    }

    @Test func setsNothingAsideThatHasChanged() async throws {
        #expect(try await cache.replace(nil, with: two, for: key))
        let error = await #expect(throws: AuthenticationError.self) { try await cache.setAside(key, record: one) }
        #expect(error?.code == .cacheBusy)
        #expect(try await cache.record(for: key) == two)
    }

    @Test func makesItsDirectoryAgainWhenThatWasRemoved() async throws {
        #expect(try await cache.replace(nil, with: one, for: key))
        try FileManager.default.removeItem(atPath: "\(directory.path)/cache")
        #expect(try await cache.record(for: key) == nil)
        #expect(try await cache.records(of: .account, in: key.group).isEmpty)
        #expect(try await cache.replace(nil, with: two, for: key))
        #expect(try await cache.record(for: key) == two)
    }

    @Test func clearsWhatADeadWriterLeftBehind() async throws {
        #expect(try await cache.replace(nil, with: one, for: key))
        let group = "\(directory.path)/cache/suite"
        let stripe = FileCacheName.stripe("account-\(key.name).json")
        let names = [
            "old": FileCacheName.temporary(stripe), "new": FileCacheName.temporary(stripe),
            "other": FileCacheName.temporary((stripe + 1) % 16),
        ]
        for name in names.values { #expect(FileManager.default.createFile(atPath: "\(group)/\(name)", contents: nil)) }
        try age("\(group)/\(names["old"] ?? "")", by: 61)
        try age("\(group)/\(names["other"] ?? "")", by: 61)
        #expect(try await cache.replace(one, with: two, for: key))
        #expect(
            try directory.names(in: "cache/suite").filter { $0.hasPrefix(".new-") }.count == 3,
            "not yet time to look"
        )
        try age("\(group)/.lock-\(stripe)", by: 601)
        #expect(try await cache.replace(two, with: one, for: key))
        let left = Set(try directory.names(in: "cache/suite").filter { $0.hasPrefix(".new-") })
        #expect(left == Set([names["new"], names["other"]].compactMap { $0 }))
    }

    @Test func staysWithinItsMemory() async throws {
        let small = FileTokenCache(directory: "\(directory.path)/cache", lockTimeout: .seconds(5), memoryLimit: 20_000)
        for number in 0..<40 {
            let record = CacheRecord(bytes: [UInt8](repeating: UInt8(number), count: 2_000))
            let key = CacheKey(group: key.group, kind: .lease, name: "\(number)")
            #expect(try await small.replace(nil, with: record, for: key))
        }
        #expect(small.memory.withLock { $0.cost } <= 20_000)
        #expect(try await small.records(of: .lease, in: key.group).count == 40)
        #expect(small.memory.withLock { $0.cost } <= 20_000)
    }

    private func age(_ path: String, by seconds: Int) throws {
        let time = timespec(tv_sec: Int(Date.now.timeIntervalSince1970) - seconds, tv_nsec: 0)
        try CallFailed.check(unsafe utimensat(AT_FDCWD, path, [time, time], 0), "utimensat")
    }

    private func address(_ record: CacheRecord) -> Int {
        unsafe record.bytes.withUnsafeBufferPointer { Int(bitPattern: $0.baseAddress) }
    }
}
