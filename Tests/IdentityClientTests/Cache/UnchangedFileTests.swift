// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityTestSupport
import Synchronization
import SystemSupport
import Testing

@testable import IdentityClient

/// Files that are kept open to detect changes.
@Suite struct HeldFileTests {
    let directory: TemporaryDirectory
    let clock = Stopwatch()
    let cache: FileTokenCache
    let key: CacheKey
    let one = CacheRecord(bytes: Array("one".utf8))
    let two = CacheRecord(bytes: Array("two".utf8))

    init() throws {
        directory = try TemporaryDirectory()
        let clock = clock
        cache = FileTokenCache(directory: "\(directory.path)/cache", lockTimeout: .seconds(5)) { clock.now }
        key = CacheKey(group: try CacheGroup("suite"), kind: .account, name: String(repeating: "c3", count: 32))
    }

    var group: String { "\(directory.path)/cache/suite" }
    var file: String { "\(group)/account-\(key.name).json" }
    var heldCount: Int { cache.memory.withLock { $0.heldCount } }

    /// Stores `one` and reads it until its file is kept open.
    private func hold() async throws {
        #expect(try await cache.replace(nil, with: one, for: key))
        try await readUntilHeld(key, count: 1)
    }

    private func readUntilHeld(_ key: CacheKey, count: Int) async throws {
        let isHeld = try await eventually { () async throws -> Bool in
            #expect(try await cache.record(for: key) == one)
            return heldCount == count
        }
        try #require(isHeld)
    }

    @Test func isKeptOpenFromTheSecondReadOfOneProgramOn() async throws {
        #expect(try await cache.replace(nil, with: one, for: key))
        #expect(heldCount == 0)
        #expect(try descriptors(of: file) == 0)
        try await readUntilHeld(key, count: 1)
        #expect(try descriptors(of: file) == 1)
        for _ in 0..<10 { #expect(try await cache.record(for: key) == one) }
        #expect(try descriptors(of: file) == 1)
    }

    /// A clock that was set back leaves times ahead of it: a change could leave them as they are.
    @Test func isNotHeldWhileItsTimesProveNothing() async throws {
        #expect(try await cache.replace(nil, with: one, for: key))
        let later = timespec(tv_sec: time(nil) + 3600, tv_nsec: 0)
        try CallFailed.check(unsafe utimensat(AT_FDCWD, file, [later, later], 0), "utimensat")
        for _ in 0..<3 { #expect(try await cache.record(for: key) == one) }
        #expect(heldCount == 0)
    }

    @Test func isNotHeldForAListing() async throws {
        #expect(try await cache.replace(nil, with: one, for: key))
        #expect(try await eventually { old(file) })
        for _ in 0..<3 { #expect(try await cache.records(of: .account, in: key.group) == [key: one]) }
        #expect(heldCount == 0)
    }

    @Test(.timeLimit(.minutes(1))) func seesAtOnceThatAnotherProcessReplacedIt() async throws {
        try await hold()
        let new = try newFile("two")
        try run(["/bin/mv", "-f", new, file])
        #expect(cache.unchangedRecord(for: key) == nil)
        #expect(try await cache.record(for: key) == two)
        #expect(heldCount == 0)
        #expect(try descriptors(of: file) == 0)
    }

    @Test(.timeLimit(.minutes(1))) func seesAtOnceThatAnotherProcessRemovedIt() async throws {
        try await hold()
        try run(["/bin/rm", "-rf", "\(directory.path)/cache"])
        #expect(try await cache.record(for: key) == nil)
        #expect(try descriptors(of: file) == 0)
    }

    @Test func seesAtOnceThatItWasWrittenTo() async throws {
        try await hold()
        let times = try status(file)
        let handle = unsafe open(file, O_WRONLY)
        defer { close(handle) }
        let written = unsafe write(handle, "two", 3)
        #expect(written == 3)
        // Only the change time (ctime) shows that the file changed.
        try CallFailed.check(unsafe futimens(handle, [times.st_atim, times.st_mtim]), "futimens")
        #expect(try await cache.record(for: key) == two)
    }

    /// A backup of hard links, as `cp -al` makes it: the old file keeps a name.
    @Test func seesAtOnceThatItWasReplacedWhereABackupKeepsIt() async throws {
        try await hold()
        let (new, backup) = (try newFile("two"), "\(directory.path)/backup")
        try CallFailed.check(unsafe link(file, backup), "link")
        try CallFailed.check(unsafe rename(new, file), "rename")
        #expect(try status(backup).st_nlink == 1)
        #expect(try await cache.record(for: key) == two)
    }

    @Test func seesAtOnceThatItWasMovedAway() async throws {
        try await hold()
        try CallFailed.check(unsafe rename(file, "\(directory.path)/elsewhere"), "rename")
        #expect(try await cache.record(for: key) == nil)
    }

    @Test func seesWithinASecondThatItsDirectoryWasReplaced() async throws {
        try await hold()
        try CallFailed.check(unsafe rename(group, "\(group)-old"), "rename")
        #expect(try await FileTokenCache(directory: "\(directory.path)/cache").replace(nil, with: two, for: key))
        clock.advance(by: .milliseconds(999))
        #expect(try await cache.record(for: key) == one, "that is the price")
        clock.advance(by: .milliseconds(1))
        #expect(try await cache.record(for: key) == two)
    }

    @Test func staysOpenWhenItIsFoundAgain() async throws {
        try await hold()
        for _ in 0..<3 {
            clock.advance(by: .milliseconds(1000))
            #expect(try await cache.record(for: key) == one)
        }
        // A record that is found again counts from then on.
        try CallFailed.check(unsafe rename(group, "\(group)-old"), "rename")
        clock.advance(by: .milliseconds(999))
        #expect(try await cache.record(for: key) == one)
        #expect(heldCount == 1)
    }

    @Test func isOneOfSixteen() async throws {
        let keys = (0..<20).map { CacheKey(group: key.group, kind: .account, name: "\($0)") }
        for key in keys { #expect(try await cache.replace(nil, with: one, for: key)) }
        for (index, key) in keys.prefix(16).enumerated() { try await readUntilHeld(key, count: index + 1) }
        #expect(try await eventually { old("\(group)/account-19.json") })
        for key in keys { #expect(try await cache.record(for: key) == one) }
        #expect(heldCount == 16)
        #expect(try descriptors(in: group) == 16)
        // All but the first were not read in the last ten seconds; one of them makes room.
        clock.advance(by: .seconds(10))
        #expect(try await cache.record(for: keys[0]) == one)
        clock.advance(by: .milliseconds(1))
        #expect(try await cache.record(for: keys[19]) == one)
        #expect(heldCount == 16)
        #expect(try descriptors(in: group) == 16)
        #expect(try descriptors(of: "\(group)/account-0.json") == 1)
        #expect(try descriptors(of: "\(group)/account-19.json") == 1)
    }

    @Test func isClosedWithTheCache() async throws {
        var cache: FileTokenCache? = FileTokenCache(directory: "\(directory.path)/cache")
        #expect(try await cache?.replace(nil, with: one, for: key) == true)
        let isHeld = try await eventually { () async throws -> Bool in
            _ = try await cache?.record(for: key)
            return try descriptors(of: file) == 1
        }
        #expect(isHeld)
        cache = nil
        #expect(try descriptors(of: file) == 0)
    }

    @Test func isClosedWhenTheRecordIsReplacedHere() async throws {
        try await hold()
        #expect(try await cache.replace(one, with: two, for: key))
        #expect(heldCount == 0)
        #expect(try await cache.record(for: key) == two)
        #expect(try descriptors(in: group) == heldCount)
    }

    @Test(.timeLimit(.minutes(1))) func isAskedByManyWhileOthersReplaceIt() async throws {
        try await hold()
        let other = FileTokenCache(directory: "\(directory.path)/cache")
        try await withThrowingTaskGroup { tasks in
            for _ in 0..<4 {
                tasks.addTask {
                    for _ in 0..<2_000 {
                        let record = try await cache.record(for: key)
                        #expect(record == one || record == two)
                    }
                }
            }
            var stored = one
            for _ in 0..<50 {
                let new = stored == one ? two : one
                #expect(try await other.replace(stored, with: new, for: key))
                #expect(try await cache.record(for: key) == new)
                stored = new
            }
            try await tasks.waitForAll()
        }
    }

    @Test func isNotInheritedByOtherPrograms() async throws {
        try await hold()
        let output = "\(directory.path)/inherited"
        try run(["/bin/sh", "-c", "ls -l /proc/self/fd > '\(output)'"])
        let text = String(decoding: FileManager.default.contents(atPath: output) ?? Data(), as: UTF8.self)
        #expect(text.contains("inherited"))
        #expect(!text.contains(file))
    }
}

extension HeldFileTests {
    /// A coarse clock that moves only when a test advances it.
    final class Stopwatch: Sendable {
        private let nanoseconds = Atomic<Int64>(0)

        var now: CoarseTime { CoarseTime(nanoseconds: nanoseconds.load(ordering: .relaxed)) }

        func advance(by duration: Duration) {
            nanoseconds.add(duration.milliseconds * 1_000_000, ordering: .relaxed)
        }
    }

    private func newFile(_ text: String) throws -> String {
        let path = "\(directory.path)/new"
        #expect(FileManager.default.createFile(atPath: path, contents: Data(text.utf8)))
        try CallFailed.check(unsafe chmod(path, 0o600), "chmod")
        return path
    }

    private func status(_ path: String) throws -> stat {
        var status = stat()
        try CallFailed.check(unsafe lstat(path, &status), "lstat")
        return status
    }

    /// Whether every change of the file is certain to show in its times.
    private func old(_ path: String) -> Bool {
        SystemCall.fingerprint(of: path)?.isSettled(at: SystemCall.now) == true
    }

    /// The number of descriptors of this process that are open on the file at `path`, also after its removal.
    private func descriptors(of path: String) throws -> Int {
        try opened().count { $0 == path || $0 == "\(path) (deleted)" }
    }

    private func descriptors(in directory: String) throws -> Int {
        try opened().count { $0.hasPrefix("\(directory)/account-") }
    }

    private func opened() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
            // A descriptor that was closed meanwhile does not count.
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
        }
    }

    private func run(_ arguments: [String]) throws {
        var pid: pid_t = 0
        var words = unsafe arguments.map { unsafe strdup($0) } + [nil]
        defer { unsafe words.forEach { unsafe free($0) } }
        guard unsafe posix_spawn(&pid, arguments[0], nil, nil, &words, environ) == 0 else {
            throw CallFailed(call: "posix_spawn")
        }
        var status: Int32 = 0
        try CallFailed.check(unsafe waitpid(pid, &status, 0), "waitpid")
        #expect(status == 0)
    }
}
