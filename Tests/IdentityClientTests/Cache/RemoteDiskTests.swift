// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTestSupport
import Synchronization
import SystemSupport
import Testing

@testable import IdentityClient

/// Files on a disk that other computers also write to, and that may stop answering: two FUSE mounts of one directory.
@Suite(.serialized, .timeLimit(.minutes(1)), .enabled(if: RemoteDisk.isPossible, RemoteDisk.reason))
struct RemoteDiskTests {
    let disk: RemoteDisk
    let key: CacheKey
    let one = CacheRecord(bytes: Array("one".utf8))
    let two = CacheRecord(bytes: Array("two".utf8))

    init() async throws {
        disk = try await RemoteDisk()
        key = CacheKey(group: try CacheGroup("suite"), kind: .account, name: String(repeating: "c3", count: 32))
    }

    /// If the credential read under the lease is older than the lease, a spent refresh token is sent again.
    @Test func readsWhatIsStoredOnceItHasTheLease() async throws {
        let disk = try await RemoteDisk(keepingNamesFor: 60)
        let here = FileTokenCache(directory: disk.here)
        #expect(try await here.replace(nil, with: one, for: key))
        try #require(
            try await eventually { () async throws -> Bool in
                #expect(try await here.record(for: key) == one)
                return here.unchangedRecord(for: key) == one
            }
        )
        // On NFS a replaced file may look unchanged for up to a minute; here one that was written to does.
        let path = try "\(disk.directory)/suite/\(FileCacheName.record(key))"
        let file = unsafe open(path, O_WRONLY | O_CLOEXEC)
        defer { close(file) }
        try #require(unsafe write(file, "two", 3) == 3)
        try #require(try await here.record(for: key) == one, "The kernel's answers are not old: this proves nothing.")
        #expect(try await here.replace(nil, with: CacheRecord(bytes: [1]), for: key.lease))
        #expect(try await here.record(for: key) == two)
    }

    @Test func seesAtOnceThatAnotherMountReplacedTheFile() async throws {
        let (here, there) = (FileTokenCache(directory: disk.here), FileTokenCache(directory: disk.there))
        #expect(try await here.replace(nil, with: one, for: key))
        #expect(try await eventually { here.unchangedRecord(for: key) == one })
        #expect(try await there.replace(one, with: two, for: key))
        #expect(try await here.record(for: key) == two)
    }

    /// However many reads hang on a disk, the rest of the program continues, and a canceled task does not wait.
    @Test func holdsUpNothingElseWhereReadsHang() async throws {
        let cache = FileTokenCache(directory: disk.here)
        let keys = (0..<16).map {
            CacheKey(group: key.group, kind: .account, name: String(repeating: "0", count: 62) + String($0 + 10))
        }
        for key in keys { #expect(try await cache.replace(nil, with: one, for: key)) }
        let reader = FileTokenCache(directory: disk.here)
        let begin = ContinuousClock.now
        try disk.hang(true)
        let reads = keys.map { key in Task { try await reader.record(for: key) } }
        for _ in 0..<3 {
            await #expect(throws: DeadlineExceeded.self) {
                try await withDeadline(.milliseconds(100)) { try await reader.record(for: keys[7]) }
            }
        }
        reads[0].cancel()
        await #expect(throws: CancellationError.self) { try await reads[0].value }
        #expect(begin.duration(to: .now) < .seconds(15), "It went on because the disk did.")
        try disk.hang(false)
        for read in reads.dropFirst() { #expect(try await read.value == one) }
    }

    /// A lock that is taken here is not seen there: the lease has none, and its holder's process is asked for.
    @Test func trustsNoLockOfALease() async throws {
        let (here, there) = (FileTokenCache(directory: disk.here), FileTokenCache(directory: disk.there))
        func leases(_ cache: FileTokenCache) -> RefreshLeaseStore {
            RefreshLeaseStore(cache: cache, key: key.lease, duration: .seconds(60))
        }
        let held = try #require(try await leases(here).take(over: nil))
        #expect(!held.lease.isLocked && held.stored.lock == nil)
        let seen = try await leases(there).read(since: .now)
        #expect(seen.record == held.stored.record && !seen.sight.isFree(seenSince: 0))
        // A lease that was stored with a lock, on a disk that was local then, is not free because no lock is seen.
        var locked = held.lease
        locked.isLocked = true
        #expect(try await here.replace(held.stored.record, with: locked.encoded(), for: key.lease))
        #expect(try await there.isLeaseLocked(locked.encoded(), for: key.lease) == nil)
        #expect(try await !leases(there).read(since: .now).sight.isFree(seenSince: 0))
    }
}

/// The end of the promises on such disks, as the documents tell it (decision 57).
@Suite(.serialized, .timeLimit(.minutes(1)), .enabled(if: RemoteDisk.isPossible, RemoteDisk.reason))
struct UnpromisedDiskTests {
    private let key: CacheKey
    private let one = CacheRecord(bytes: [1])
    private let two = CacheRecord(bytes: [2])
    private let three = CacheRecord(bytes: [3])

    init() throws {
        key = CacheKey(group: try CacheGroup("suite"), kind: .account, name: String(repeating: "c3", count: 32))
    }

    /// A replacement is a rename: under an old name the record that was replaced is found, and counts as the stored one.
    @Test(arguments: [0, 60]) func replacesWhatAnotherMountHasReplacedIfNamesAreOld(seconds: Int) async throws {
        let disk = try await RemoteDisk(keepingNamesFor: seconds)
        let (here, there) = (FileTokenCache(directory: disk.here), FileTokenCache(directory: disk.there))
        #expect(try await here.replace(nil, with: one, for: key))
        #expect(try await there.replace(one, with: two, for: key))
        let isLost = try await here.replace(one, with: three, for: key)
        #expect(isLost == (seconds > 0))
        #expect(try await FileTokenCache(directory: disk.directory).record(for: key) == (isLost ? three : two))
    }

    @Test func writesUnderALockThatAnotherMountHolds() async throws {
        let disk = try await RemoteDisk()
        let (here, there) = (FileTokenCache(directory: disk.here), FileTokenCache(directory: disk.there))
        #expect(try await here.replace(nil, with: one, for: key))
        let lock = FileCacheName.lock(FileCacheName.stripe(try FileCacheName.record(key)))
        let held = unsafe open("\(disk.here)/suite/\(lock)", O_RDWR | O_CLOEXEC)
        defer { close(held) }
        try #require(flock(held, LOCK_EX | LOCK_NB) == 0)
        #expect(try await there.replace(one, with: two, for: key))
    }
}

/// A directory that is mounted at two places, as a disk on another computer would be.
final class RemoteDisk: Sendable {
    private static let program = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Support/remote-disk/mount").standardizedFileURL.path

    static let reason: Comment = "needs root, FUSE and python3-fusepy: Scripts/install-prerequisites disk"

    static var isPossible: Bool {
        geteuid() == 0 && FileManager.default.fileExists(atPath: "/dev/fuse")
            && (try? run([
                "/usr/bin/python3", "-c",
                "import ctypes.util, sys\ntry: import fusepy\nexcept ImportError: import fuse",
            ]))
                == 0
    }

    private let temporary: TemporaryDirectory
    var here: String { "\(temporary.path)/here/cache" }
    var there: String { "\(temporary.path)/there/cache" }
    /// The same on the disk itself.
    var directory: String { "\(temporary.path)/disk/cache" }

    /// - Parameter seconds: How long the kernel keeps names.
    init(keepingNamesFor seconds: Int = 0) async throws {
        temporary = try TemporaryDirectory()
        for name in ["disk", "here", "there"] {
            try FileManager.default.createDirectory(
                atPath: "\(temporary.path)/\(name)",
                withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o700]
            )
        }
        for place in ["here", "there"] {
            let process = Process()
            process.executableURL = URL(filePath: Self.program)
            process.arguments = ["\(temporary.path)/disk", "\(temporary.path)/\(place)", "\(seconds)"]
            try process.run()
            let marker = "\(temporary.path)/\(place)/.mounted"
            if place == "here" { try Data().write(to: URL(filePath: "\(temporary.path)/disk/.mounted")) }
            try #require(try await eventually { FileManager.default.fileExists(atPath: marker) }, "not mounted")
        }
    }

    /// Blocks or unblocks reads of records.
    func hang(_ hangs: Bool) throws {
        let path = "\(temporary.path)/disk/.hang"
        if hangs { try Data().write(to: URL(filePath: path)) } else { try FileManager.default.removeItem(atPath: path) }
    }

    deinit {
        try? FileManager.default.removeItem(atPath: "\(temporary.path)/disk/.hang")
        // Removing the directory would also empty the mounted disk.
        for place in ["here", "there"] { _ = try? Self.run(["/bin/umount", "-l", "\(temporary.path)/\(place)"]) }
    }

    private static func run(_ arguments: [String]) throws -> Int32 {
        let process = Process()
        process.executableURL = URL(filePath: arguments[0])
        process.arguments = Array(arguments.dropFirst())
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus
    }
}
