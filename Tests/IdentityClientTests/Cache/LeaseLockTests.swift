// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityTestSupport
import SystemSupport
import Testing

@testable import IdentityClient
@testable import IdentityMSALCaches

/// The lock that is held with a lease, and what it says of the holder.
@Suite(.timeLimit(.minutes(1))) struct LeaseLockTests {
    /// The caches around files, each of which passes the locks on.
    enum Around: CaseIterable, Sendable {
        case nothing, encryption, sharedFile, measurement
    }

    private let directory: TemporaryDirectory
    private let key: CacheKey

    init() throws {
        directory = try TemporaryDirectory()
        key = CacheKey(group: try CacheGroup("group"), kind: .lease, name: "name")
    }

    private var files: FileTokenCache { FileTokenCache(directory: directory.path + "/cache") }

    private func leases(_ cache: any TokenCache) -> RefreshLeaseStore {
        RefreshLeaseStore(cache: cache, key: key, duration: .seconds(60))
    }

    private func isFree(_ cache: any TokenCache) async throws -> Bool {
        try await leases(cache).read(since: .now).sight.isFree(seenSince: 0)
    }

    /// A holder that this process cannot see.
    private static func hidden(_ nonce: String, isLocked: Bool) -> CacheRecord {
        let holder = ProcessIdentity(bootID: "boot", pidNamespace: "pid:[1]", pid: 1, startTime: "1")
        return RefreshLease(nonce: nonce, duration: 60_000, holder: holder, deadline: .max, isLocked: isLocked)
            .encoded()
    }

    @Test(arguments: Around.allCases) func aLeaseIsLockedWhileItIsHeld(_ around: Around) async throws {
        let cache: any TokenCache =
            switch around {
            case .nothing: files
            case .encryption: EncryptedTokenCache(files, key: try EncryptionKey((0..<32).map { UInt8($0) }))
            case .sharedFile:
                try SharedMSALCache(.file(directory.path + "/msal.json"), clientID: "client", fallback: files)
            case .measurement: MeasuredTokenCache(base: files, telemetry: nil)
            }
        let held = try #require(try await leases(cache).take(over: nil))
        #expect(held.lease.isLocked && held.stored.lock != nil)
        let record = try #require(try await files.record(for: key))
        #expect(RefreshLease(decoding: record) == held.lease)
        #expect(try await cache.findLeaseLock(record, for: key) == true)
        #expect(try await !isFree(files))
        held.stored.lock?.end()
        #expect(try await cache.findLeaseLock(record, for: key) == false)
        #expect(try await isFree(files), "The holder's process lives, but it gave the lease up.")
    }

    /// The kernel ends the lock with the holder, of which this process can see nothing else.
    @Test func aHolderThatCannotBeSeenIsJudgedByItsLock() async throws {
        let lease: @Sendable (Bool) -> CacheRecord = { Self.hidden("n", isLocked: $0) }
        let stored = try #require(try await files.storeLease(over: nil, with: lease, for: key))
        #expect(try await !isFree(files))
        stored.lock?.end()
        #expect(try await isFree(files))
        // A lease of an older version says nothing of a lock.
        #expect(try await files.replace(stored.record, with: Self.hidden("old", isLocked: false), for: key))
        #expect(try await !isFree(files))
    }

    /// An older version looks at processes alone, and keeps no lock.
    @Test func aLeaseWithoutALockIsJudgedByItsProcess() async throws {
        for (startTime, isFree) in [(ProcessTable.current().startTime, false), ("1", true)] {
            var holder = ProcessTable.current()
            holder.startTime = startTime
            let lease = RefreshLease(nonce: startTime, duration: 60_000, holder: holder, deadline: .max)
            #expect(try await files.replace(files.record(for: key), with: lease.encoded(), for: key))
            #expect(try await self.isFree(files) == isFree)
        }
    }

    @Test func aRenewedLeaseIsLockedToo() async throws {
        let leases = RefreshLeaseStore(cache: files, key: key, duration: .seconds(10))
        let first = try #require(try await leases.take(over: nil))
        let second = try #require(try await leases.renewed(first, toOutlast: .seconds(9)))
        #expect(second.lease.turn == first.lease.turn && second.lease.nonce != first.lease.nonce)
        first.stored.lock?.end()
        #expect(try await !isFree(files))
        #expect(try await files.findLeaseLock(first.stored.record, for: key) == false, "It is not stored any more.")
        await leases.release(second)
        #expect(try await files.record(for: key) == nil)
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path + "/cache/group")
        #expect(names.allSatisfy { $0.hasPrefix(".lock-") }, "A lock leaves no file of its own.")
    }

    @Test func twoThatLookAtOnceDoNotTakeEachOtherForTheHolder() async throws {
        let stored = try #require(
            try await files.storeLease(over: nil, with: { Self.hidden("n", isLocked: $0) }, for: key)
        )
        stored.lock?.end()
        let descriptor = unsafe open("\(directory.path)/cache/group/lease-name.json", O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        #expect(flock(descriptor, LOCK_SH | LOCK_NB) == 0)
        #expect(try await isFree(files))
    }

    /// Such a program may run for long after this one: a browser, for example.
    @Test func aProgramThatIsStartedDoesNotKeepTheLock() async throws {
        let held = try #require(try await leases(files).take(over: nil))
        let process = try Bystander.start()
        defer { Bystander.end(process) }
        let system = FileManager.default
        let place = "/proc/\(process)"
        // `posix_spawn` returns once the child runs the other program.
        #expect(try !system.destinationOfSymbolicLink(atPath: "\(place)/exe").contains("Tests"))
        let targets = try system.contentsOfDirectory(atPath: "\(place)/fd")
            .map { try system.destinationOfSymbolicLink(atPath: "\(place)/fd/\($0)") }
        #expect(!targets.isEmpty)
        #expect(!targets.contains { $0.contains("lease-name") })
        withExtendedLifetime(held) {}
    }

    /// The locks of other file systems may be those of another machine, or of one mount.
    @Test func trustsNoLockOfAFileSystemThatItDoesNotKnow() throws {
        func hasLocks(_ path: String) throws -> Bool? {
            guard let directory = try Descriptor.directory(path) else { return nil }
            return directory.hasLocksOfThisKernel
        }
        #expect(try hasLocks(directory.path) == true)
        #expect(try hasLocks("/proc") == false)
    }

    @Test func aCacheWithoutLocksHasLeasesWithoutLocks() async throws {
        let cache = InMemoryTokenCache()
        let held = try #require(try await leases(cache).take(over: nil))
        #expect(!held.lease.isLocked && held.stored.lock == nil)
        #expect(try await cache.findLeaseLock(held.stored.record, for: key) == nil)
        #expect(try await !isFree(cache))
    }
}
