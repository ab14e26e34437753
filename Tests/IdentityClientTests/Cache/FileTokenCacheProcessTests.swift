// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityMSALCaches
import IdentityTestSupport
import SystemSupport
import Testing

@testable import IdentityClient

/// Tests that need a separate process: another umask, user or environment.
@Suite struct FileTokenCacheProcessTests {
    static let isRoot = geteuid() == 0

    @Test(.timeLimit(.minutes(1))) func makesEverythingForItsUserAloneUnderAnyUmask() async {
        await #expect(processExitsWith: .success) {
            for mask: UInt32 in [0, 0o777, 0o077, 0o277] {
                let directory = try TemporaryDirectory()
                umask(mask)
                let cache = FileTokenCache(directory: "\(directory.path)/a/b/cache")
                let key = CacheKey(group: try CacheGroup("suite"), kind: .account, name: "a")
                #expect(try await cache.replace(nil, with: CacheRecord(bytes: [1]), for: key))
                #expect(try await cache.replace(CacheRecord(bytes: [1]), with: CacheRecord(bytes: [2]), for: key))
                #expect(
                    try await FileTokenCache(directory: "\(directory.path)/a/b/cache").record(for: key)?.bytes == [2]
                )
                umask(0o022)
                for path in ["a", "a/b", "a/b/cache", "a/b/cache/suite"] {
                    #expect(try permissions("\(directory.path)/\(path)") == 0o700, "\(path), umask \(mask)")
                }
                for name in try directory.names(in: "a/b/cache/suite") {
                    #expect(
                        try permissions("\(directory.path)/a/b/cache/suite/\(name)") == 0o600,
                        "\(name), umask \(mask)"
                    )
                }
            }
        }
    }

    @Test(.timeLimit(.minutes(1))) func saysThatADirectoryIsReadOnlyAndStillReads() async {
        await #expect(processExitsWith: .success) {
            // Created earlier, because other users may not have access to the directory of temporary files.
            let directory = try TemporaryDirectory(in: "/tmp")
            if geteuid() == 0 {
                _ = unsafe chown(directory.path, 65_534, 65_534)
                try CallFailed.check(setuid(65_534), "setuid")
            }
            let cache = FileTokenCache(directory: "\(directory.path)/cache")
            let key = CacheKey(group: try CacheGroup("suite"), kind: .account, name: "a")
            #expect(try await cache.replace(nil, with: CacheRecord(bytes: [1]), for: key))
            _ = unsafe chmod("\(directory.path)/cache/suite", 0o500)
            let error = await #expect(throws: AuthenticationError.self) {
                try await cache.replace(CacheRecord(bytes: [1]), with: CacheRecord(bytes: [2]), for: key)
            }
            #expect(error?.code == .cachePermissions)
            #expect(try await cache.record(for: key)?.bytes == [1])
            _ = unsafe chmod("\(directory.path)/cache/suite", 0o700)
        }
    }

    @Test(.enabled(if: isRoot, "only root can be under sudo"), .timeLimit(.minutes(1)))
    func leavesTheHomeOfWhoeverCalledSudoAlone() async {
        await #expect(processExitsWith: .success) {
            let directory = try TemporaryDirectory()
            let home = "\(directory.path)/home"
            _ = unsafe mkdir(home, 0o700)
            _ = unsafe chown(home, 1, 1)
            unsafe setenv("SUDO_UID", "1", 1)
            let key = CacheKey(group: try CacheGroup("suite"), kind: .account, name: "a")
            for path in ["\(home)/.local/state/x", "\(home)/cache", home] {
                let error = await #expect(throws: AuthenticationError.self) {
                    try await FileTokenCache(directory: path).replace(nil, with: CacheRecord(bytes: [1]), for: key)
                }
                #expect(error?.code == .cachePermissions)
                #expect(error?.message.contains(home) == true)
            }
            #expect(try directory.names(in: "home").isEmpty)
            let own = FileTokenCache(directory: "\(directory.path)/cache")
            #expect(try await own.replace(nil, with: CacheRecord(bytes: [1]), for: key))
            unsafe setenv("HOME", home, 1)
            unsafe unsetenv("XDG_STATE_HOME")
            #expect(
                try StateDirectory.path() == "\(SystemCall.home(ofUser: 0) ?? "")/.local/state/swift-identity-client"
            )
        }
    }

    @Test(.enabled(if: isRoot, "only root can mount"), .timeLimit(.minutes(1)))
    func saysThatTheDiskIsFullOrReadOnlyAndKeepsTheOldRecord() async throws {
        let directory = try TemporaryDirectory()
        let disk = "\(directory.path)/disk"
        try CallFailed.check(unsafe mkdir(disk, 0o700), "mkdir")
        guard unsafe mount("tmpfs", disk, "tmpfs", 0, "size=64k,mode=700") == 0 else {
            Issue.record(
                "This machine lets even root mount nothing, so a full disk was not tried.",
                severity: .warning
            )
            return
        }
        defer { _ = unsafe umount2(disk, Int32(MNT_DETACH)) }
        let cache = FileTokenCache(directory: "\(disk)/cache")
        let key = CacheKey(group: try CacheGroup("suite"), kind: .account, name: "a")
        let old = CacheRecord(bytes: [UInt8](repeating: 1, count: 9_000))
        let large = CacheRecord(bytes: [UInt8](repeating: 2, count: 60_000))
        #expect(try await cache.replace(nil, with: old, for: key))
        let full = await #expect(throws: AuthenticationError.self) {
            try await cache.replace(old, with: large, for: key)
        }
        #expect(full?.code == .cacheFull)
        #expect(full?.message.contains(".new-") == false)
        #expect(try await FileTokenCache(directory: "\(disk)/cache").record(for: key) == old)
        #expect(try directory.names(in: "disk/cache/suite").allSatisfy { !$0.hasPrefix(".new-") })
        try CallFailed.check(
            unsafe mount(nil, disk, nil, UInt(MS_REMOUNT | MS_RDONLY), nil),
            "remount"
        )
        let readOnly = await #expect(throws: AuthenticationError.self) {
            try await cache.replace(old, with: nil, for: key)
        }
        #expect(readOnly?.code == .cachePermissions)
        #expect(readOnly?.message.contains("read-only") == true)
        #expect(try await cache.record(for: key) == old)
    }
}

extension FileTokenCacheProcessTests {
    /// Each process that is killed between the request and the answer leaves a reserved file.
    @Test(.enabled(if: isRoot, "only root can mount"), .timeLimit(.minutes(1)))
    func makesRoomFromTheFilesOfKilledWriters() async throws {
        let directory = try TemporaryDirectory()
        let disk = "\(directory.path)/disk"
        try CallFailed.check(unsafe mkdir(disk, 0o700), "mkdir")
        guard unsafe mount("tmpfs", disk, "tmpfs", 0, "size=96k,mode=700") == 0 else {
            Issue.record("This machine lets even root mount nothing.", severity: .warning)
            return
        }
        defer { _ = unsafe umount2(disk, Int32(MNT_DETACH)) }
        let cache = FileTokenCache(directory: "\(disk)/cache")
        let group = try CacheGroup("suite")
        let keys = (0..<9).map { CacheKey(group: group, kind: .account, name: "\($0)") }
        let record = CacheRecord(bytes: [1])
        for key in keys { #expect(try await cache.replace(nil, with: record, for: key)) }
        let kept = try #require(try await cache.reserve(4000, for: keys[8]))
        for number in 0..<4 {
            await #expect(processExitsWith: .signal(SIGKILL)) { [disk = disk as String, number = number as Int] in
                let key = CacheKey(group: try CacheGroup("suite"), kind: .account, name: "\(number)")
                let reservation = try await FileTokenCache(directory: "\(disk)/cache").reserve(9000, for: key)
                kill(getpid(), SIGKILL)
                withExtendedLifetime(reservation) {}
            }
        }
        func left() throws -> Int { try directory.names(in: "disk/cache/suite").count { $0.hasPrefix(".new-") } }
        #expect(try left() == 5)
        // Of another stripe's record as well.
        let other = try await FileTokenCache(directory: "\(disk)/cache").reserve(30_000, for: keys[7])
        #expect(try left() == 2)
        let large = CacheRecord(bytes: [UInt8](repeating: 2, count: 3000))
        #expect(try await cache.replace(record, with: large, for: keys[8]))
        await other?.release()
        await kept.release()
        #expect(try left() == 0)
    }
}

@Suite struct StateDirectoryTests {
    @Test(
        arguments: [
            ("/state", "/home/a", "/state/swift-identity-client"),
            ("/state//x/./", "/home/a", "/state/x/swift-identity-client"),
            ("relative", "/home/a", "/home/a/.local/state/swift-identity-client"),
            (nil, "/home/a/", "/home/a/.local/state/swift-identity-client"),
            (nil, nil, nil), ("relative", "relative", nil),
        ] as [(String?, String?, String?)]
    )
    func followsTheBaseDirectorySpecification(stateHome: String?, home: String?, path: String?) {
        let found = StateDirectory.path(home: home, isFlatpak: false) { $0 == "XDG_STATE_HOME" ? stateHome : nil }
        #expect(found == path)
    }

    @Test(
        arguments: [
            (["FLATPAK_ID": "org.a.B"], true, "/home/a/.var/app/org.a.B/.local/state"),
            (["FLATPAK_ID": "org.a.B", "XDG_STATE_HOME": "/state"], true, "/state"),
            (["FLATPAK_ID": "org.a.B"], false, "/home/a/.local/state"),
            (["FLATPAK_ID": "../b"], true, "/home/a/.local/state"),
            (["FLATPAK_ID": ".."], true, "/home/a/.local/state"),
            ([:], true, "/home/a/.local/state"),
            (["SNAP_USER_DATA": "/home/a/", "SNAP_USER_COMMON": "/common"], false, "/common/.local/state"),
            (["SNAP_USER_DATA": "/home/a/snap/b/1", "SNAP_USER_COMMON": "/common"], false, "/home/a/.local/state"),
            (["SNAP_USER_DATA": "/home/a", "SNAP_USER_COMMON": "common"], false, "/home/a/.local/state"),
            (["SNAP_USER_DATA": "/home/a"], false, "/home/a/.local/state"),
        ] as [([String: String], Bool, String)]
    )
    func outlastsTheProgramInASandbox(variables: [String: String], isFlatpak: Bool, place: String) {
        let found = StateDirectory.path(home: "/home/a", isFlatpak: isFlatpak) { variables[$0] }
        #expect(found == "\(place)/swift-identity-client")
    }

    /// It would be a folder of that name in the working directory, with tokens in clear text.
    @Test(arguments: ["~", "~/tokens", "~alice/tokens"]) func refusesAPathThatOnlyAShellReads(_ path: String)
        async throws
    {
        let key = CacheKey(group: try CacheGroup("suite"), kind: .account, name: "a")
        let cache = FileTokenCache(directory: path)
        try await expectError(.invalidArgument) { try await cache.record(for: key) }
        try await expectError(.invalidArgument) {
            try await cache.replace(nil, with: CacheRecord(bytes: [1]), for: key)
        }
        try await expectError(.invalidArgument) { try await cache.checkWritable(in: key.group) }
        try await expectError(.invalidArgument) { try KeyFile(path: path) }
        try await expectError(.invalidArgument) { try SharedMSALCache(.file(path), clientID: "c") }
        #expect(try await FileTokenCache(directory: "./tests-of-~").record(for: key) == nil)
    }

    @Test func keepsAnAbsolutePathAndCompletesARelativeOne() {
        #expect(FilePath.absolute("/a//b/./c/", in: "/work") == "/a/b/c")
        #expect(FilePath.absolute("b/../c", in: "/work") == "/work/b/../c")
        // A slash and a combining accent are one character, and two for the system.
        #expect(FilePath.absolute("/a/./\u{301}b", in: "/work") == "/a/\u{301}b")
    }
}
