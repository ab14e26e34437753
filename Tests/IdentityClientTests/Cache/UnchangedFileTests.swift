// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityTestSupport
import SystemSupport
import Testing

@testable import IdentityClient

/// A remembered record counts for as long as its path leads to the file that was read, unchanged.
@Suite struct UnchangedFileTests {
    let directory: TemporaryDirectory
    let cache: FileTokenCache
    let key: CacheKey
    let one = CacheRecord(bytes: Array("one".utf8))
    let two = CacheRecord(bytes: Array("two".utf8))

    init() throws {
        directory = try TemporaryDirectory()
        cache = FileTokenCache(directory: "\(directory.path)/cache")
        key = CacheKey(group: try CacheGroup("suite"), kind: .account, name: String(repeating: "c3", count: 32))
    }

    var group: String { "\(directory.path)/cache/suite" }
    var file: String { "\(group)/account-\(key.name).json" }

    /// Stores `one` and reads it until its fingerprint proves that its file is unchanged.
    private func remember() async throws {
        #expect(try await cache.replace(nil, with: one, for: key))
        let isSettled = try await eventually { () async throws -> Bool in
            #expect(try await cache.record(for: key) == one)
            return cache.unchangedRecord(for: key) == one && old(file)
        }
        try #require(isSettled)
    }

    @Test func needsNoOpenFile() async throws {
        try await remember()
        for _ in 0..<10 { #expect(try await cache.record(for: key) == one) }
        #expect(try descriptors(in: group) == 0)
    }

    /// A clock that was set back leaves times ahead of it: a change could leave them as they are.
    @Test func isReadAgainWhileItsTimesProveNothing() async throws {
        #expect(try await cache.replace(nil, with: one, for: key))
        let later = timespec(tv_sec: time(nil) + 3600, tv_nsec: 0)
        try CallFailed.check(unsafe utimensat(AT_FDCWD, file, [later, later], 0), "utimensat")
        for _ in 0..<3 { #expect(try await cache.record(for: key) == one) }
        #expect(cache.unchangedRecord(for: key) == nil)
    }

    @Test(.timeLimit(.minutes(1))) func seesAtOnceThatAnotherProcessReplacedIt() async throws {
        try await remember()
        let new = try newFile("two")
        try run(["/bin/mv", "-f", new, file])
        #expect(cache.unchangedRecord(for: key) == nil)
        #expect(try await cache.record(for: key) == two)
    }

    @Test(.timeLimit(.minutes(1))) func seesAtOnceThatAnotherProcessRemovedIt() async throws {
        try await remember()
        try run(["/bin/rm", "-rf", "\(directory.path)/cache"])
        #expect(try await cache.record(for: key) == nil)
    }

    @Test func seesAtOnceThatItWasWrittenTo() async throws {
        try await remember()
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
        try await remember()
        let (new, backup) = (try newFile("two"), "\(directory.path)/backup")
        try CallFailed.check(unsafe link(file, backup), "link")
        try CallFailed.check(unsafe rename(new, file), "rename")
        #expect(try status(backup).st_nlink == 1)
        #expect(try await cache.record(for: key) == two)
    }

    @Test func seesAtOnceThatItWasMovedAway() async throws {
        try await remember()
        try CallFailed.check(unsafe rename(file, "\(directory.path)/elsewhere"), "rename")
        #expect(try await cache.record(for: key) == nil)
    }

    @Test func seesAtOnceThatItsDirectoryWasReplaced() async throws {
        try await remember()
        try CallFailed.check(unsafe rename(group, "\(group)-old"), "rename")
        #expect(try await FileTokenCache(directory: "\(directory.path)/cache").replace(nil, with: two, for: key))
        #expect(try await cache.record(for: key) == two)
    }

    @Test(.timeLimit(.minutes(1))) func isAskedByManyWhileOthersReplaceIt() async throws {
        try await remember()
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
}

extension UnchangedFileTests {
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

    /// The number of descriptors of this process that are open on records of `directory`, also after their removal.
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
