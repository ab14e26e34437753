// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityTestSupport
import Testing

@testable import IdentityClient

@Suite struct FileTokenCacheSecurityTests {
    static let isRoot = geteuid() == 0

    let directory: TemporaryDirectory
    let key: CacheKey
    let record = CacheRecord(bytes: Array("secret".utf8))
    let next = CacheRecord(bytes: Array("next".utf8))

    init() async throws {
        directory = try TemporaryDirectory()
        key = CacheKey(group: try CacheGroup("suite"), kind: .account, name: String(repeating: "b2", count: 32))
        #expect(try await cache.replace(nil, with: record, for: key))
    }

    /// A cache that has not read any record yet.
    var cache: FileTokenCache { FileTokenCache(directory: root) }
    var root: String { "\(directory.path)/cache" }
    var group: String { "\(root)/suite" }
    var file: String { "\(group)/account-\(key.name).json" }
    var lock: String { "\(group)/.lock-\(FileCacheName.stripe("account-\(key.name).json"))" }

    /// Expects that reading and writing both refuse the file, and that the message names it.
    private func expectRefusal(
        naming path: String,
        _ remedy: String = "",
        code: AuthenticationError.Code = .cachePermissions
    ) async {
        let warm = cache
        for operation in ["read", "list", "write"] {
            let error = await #expect(throws: AuthenticationError.self, "\(operation)") {
                switch operation {
                case "read": _ = try await warm.record(for: key)
                case "list": _ = try await warm.records(of: .account, in: key.group)
                default: _ = try await warm.replace(record, with: next, for: key)
                }
            }
            #expect(error?.code == code, "\(operation)")
            #expect(error?.message.contains(path) == true && error?.message.contains(remedy) == true, "\(operation)")
            #expect(error?.description.contains("secret") == false)
        }
    }

    @Test func refusesALinkInPlaceOfTheFile() async throws {
        let target = "\(directory.path)/target"
        try CallFailed.check(unsafe rename(file, target), "rename")
        try CallFailed.check(unsafe symlink(target, file), "symlink")
        await expectRefusal(naming: file, "symbolic link")
        #expect(FileManager.default.contents(atPath: target) == Data("secret".utf8))
    }

    @Test func noticesALinkThatTookTheFilesPlace() async throws {
        let cache = cache
        #expect(
            try await eventually {
                _ = try await cache.record(for: key); return cache.unchangedRecord(for: key) != nil
            }
        )
        try CallFailed.check(unsafe rename(file, "\(directory.path)/target"), "rename")
        try CallFailed.check(unsafe symlink("\(directory.path)/target", file), "symlink")
        let error = await #expect(throws: AuthenticationError.self) { try await cache.record(for: key) }
        #expect(error?.code == .cachePermissions)
    }

    @Test func refusesLinksInPlaceOfDirectories() async throws {
        for path in [group, root] {
            try CallFailed.check(unsafe rename(path, "\(path)-moved"), "rename")
            try CallFailed.check(unsafe symlink("\(path)-moved", path), "symlink")
            await expectRefusal(naming: path, "symbolic link")
            try CallFailed.check(unsafe unlink(path), "unlink")
            try CallFailed.check(unsafe rename("\(path)-moved", path), "rename")
        }
        #expect(try await cache.record(for: key) == record)
    }

    /// `~/.local` is often a link to another disk. The directories for tokens are made below it at once.
    @Test func makesItsDirectoriesBelowALink() async throws {
        let (real, link) = ("\(directory.path)/disk", "\(directory.path)/local")
        try CallFailed.check(unsafe mkdir(real, 0o700), "mkdir")
        try CallFailed.check(unsafe symlink(real, link), "symlink")
        let cache = FileTokenCache(directory: "\(link)/state/tokens")
        #expect(try await cache.replace(nil, with: record, for: key))
        #expect(try await FileTokenCache(directory: "\(real)/state/tokens").record(for: key) == record)
    }

    @Test func doesNotFollowALinkInPlaceOfTheLock() async throws {
        try CallFailed.check(unsafe unlink(lock), "unlink")
        try CallFailed.check(unsafe symlink("\(directory.path)/made", lock), "symlink")
        let error = await #expect(throws: AuthenticationError.self) {
            try await cache.replace(record, with: next, for: key)
        }
        #expect(error?.code == .cachePermissions)
        #expect(!FileManager.default.fileExists(atPath: "\(directory.path)/made"))
        #expect(try await cache.record(for: key) == record)
    }

    @Test func refusesAHardLink() async throws {
        try CallFailed.check(unsafe link(file, "\(directory.path)/second"), "link")
        await expectRefusal(naming: file, "hard link")
        try CallFailed.check(unsafe unlink("\(directory.path)/second"), "unlink")
        #expect(try await cache.record(for: key) == record)
    }

    @Test(arguments: [0o644, 0o640, 0o606, 0o620] as [UInt32])
    func refusesAFileThatIsOpenToOthersAndLeavesItSo(mode: UInt32) async throws {
        try CallFailed.check(unsafe chmod(file, mode), "chmod")
        await expectRefusal(naming: file, "chmod 600 \(file) (if that changes nothing")
        #expect(try permissions(file) == mode)
        try CallFailed.check(unsafe chmod(file, 0o600), "chmod")
        #expect(try await cache.record(for: key) == record)
    }

    /// The path goes into a command that the person pastes. Swift may count an apostrophe and the scalar after it as
    /// one character.
    @Test(arguments: ["it's", "it'\u{301}s", "a;b c"]) func quotesThePathInItsAdvice(name: String) async throws {
        let path = "\(directory.path)/\(name)"
        try CallFailed.check(unsafe mkdir(path, 0o700), "mkdir")
        try CallFailed.check(unsafe chmod(path, 0o770), "chmod")
        let cache = FileTokenCache(directory: path)
        let error = await #expect(throws: AuthenticationError.self) { try await cache.record(for: key) }
        let bytes = name.unicodeScalars.map { $0 == "'" ? #"'\''"# : String($0) }.joined()
        #expect(error?.message.contains("chmod 700 '\(directory.path)/\(bytes)'") == true)
    }

    @Test func noticesThatAFileWasOpenedToOthers() async throws {
        let cache = cache
        #expect(
            try await eventually {
                _ = try await cache.record(for: key); return cache.unchangedRecord(for: key) != nil
            }
        )
        try CallFailed.check(unsafe chmod(file, 0o644), "chmod")
        let error = await #expect(throws: AuthenticationError.self) { try await cache.record(for: key) }
        #expect(error?.code == .cachePermissions)
    }

    @Test(arguments: [0o770, 0o702] as [UInt32])
    func refusesADirectoryThatOthersMayWriteTo(mode: UInt32) async throws {
        for path in [group, root] {
            try CallFailed.check(unsafe chmod(path, mode), "chmod")
            await expectRefusal(naming: path, "chmod 700 \(path) (if that changes nothing")
            try CallFailed.check(unsafe chmod(path, 0o700), "chmod")
        }
    }

    @Test(arguments: [0o770, 0o702] as [UInt32])
    func believesNoSuchDirectoryThatItHasNoRecord(mode: UInt32) async throws {
        for path in [group, root] {
            try CallFailed.check(unsafe chmod(path, mode), "chmod")
            let error = await #expect(throws: AuthenticationError.self) { try await cache.record(for: key.lease) }
            #expect(error?.code == .cachePermissions)
            try CallFailed.check(unsafe chmod(path, 0o700), "chmod")
        }
        #expect(try await cache.record(for: key.lease) == nil)
    }

    @Test(.enabled(if: isRoot, "only root can give files away"))
    func refusesWhatBelongsToAnotherUser() async throws {
        for path in [file, group, root] {
            try CallFailed.check(unsafe chown(path, 1, 1), "chown")
            await expectRefusal(naming: path, "user 1")
            try CallFailed.check(unsafe chown(path, 0, 0), "chown")
        }
        try CallFailed.check(unsafe chown(lock, 1, 1), "chown")
        let error = await #expect(throws: AuthenticationError.self) {
            try await cache.replace(record, with: next, for: key)
        }
        #expect(error?.code == .cachePermissions)
        #expect(error?.message.contains(lock) == true)
    }

    @Test(.timeLimit(.minutes(1))) func refusesWhatIsNoFileWithoutWaitingForIt() async throws {
        try CallFailed.check(unsafe unlink(file), "unlink")
        try CallFailed.check(unsafe mkfifo(file, 0o600), "mkfifo")
        await expectRefusal(naming: file, "not a plain file")
        try CallFailed.check(unsafe unlink(file), "unlink")
        try CallFailed.check(unsafe mkdir(file, 0o700), "mkdir")
        await expectRefusal(naming: file, "not a plain file")
    }

    @Test func refusesAFileThatIsTooLarge() async throws {
        try CallFailed.check(unsafe truncate(file, (1 << 20) + 65), "truncate")
        await expectRefusal(naming: file, "1 MiB", code: .cache)
    }

    @Test func handsOutATruncatedFileAsItIs() async throws {
        for size in [3, 0] {
            try CallFailed.check(unsafe truncate(file, size), "truncate")
            #expect(try await cache.record(for: key)?.bytes == Array("secret".utf8.prefix(size)))
        }
    }

    @Test func refusesAFileInPlaceOfTheDirectory() async throws {
        try FileManager.default.removeItem(atPath: root)
        #expect(FileManager.default.createFile(atPath: root, contents: nil))
        await expectRefusal(naming: root, "directory")
    }
}
