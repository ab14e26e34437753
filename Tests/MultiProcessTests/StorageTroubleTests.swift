// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityCacheTesting
import IdentityTestSupport
import IdentityTesting
import Testing

@testable import IdentityClient

/// A storage that is in trouble before a request: no refresh token is sent, and the next refresh after the trouble
/// succeeds, in the same process and in another.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct StorageTroubleTests {
    private static let onDisk = Store.chosen.filter { [.file, .encrypted, .shared].contains($0) }

    /// Some room is left: for a lease, and not for the record that would come.
    @Test(.enabled(if: Disk.isMountable, "only root can mount"), arguments: onDisk)
    func sendsNothingOnAFullDisk(_ store: Store) async throws {
        let disk = try Disk(kilobytes: 256)
        let storage = try Storage(store, directory: disk.directory)
        try await survives("full-disk", store, storage, "cache.full") { _ in
            try disk.fill(leaving: 8)
        } ending: { _ in
            try disk.empty()
        }
    }

    @Test(arguments: onDisk)
    func sendsNothingUnderALowFileSizeLimit(_ store: Store) async throws {
        try await survives("file-limit", store, Storage(store), "cache.full") { worker in
            try worker.limit("fsize", "1024")
        } ending: { worker in
            try worker.limit("fsize", "unlimited")
        }
    }

    @Test(arguments: onDisk)
    func sendsNothingUnderALowDescriptorLimit(_ store: Store) async throws {
        try await survives("descriptor-limit", store, Storage(store), "cache") { worker in
            try worker.limit("nofile", "\(worker.limitOfDescriptors(leaving: 5))")
        } ending: { worker in
            try worker.limit("nofile", "1024")
        }
    }

    @Test(arguments: onDisk)
    func sendsNothingWhileTheRecordIsLocked(_ store: Store) async throws {
        let storage = try Storage(store)
        let lock = Shared<(any Sendable)?>(nil)
        try await survives("held-lock", store, storage, "cache.busy") { _ in
            if store == .shared {
                let path = "\(storage.directory.path)/msal.json.lockfile"
                try Data("\(getpid()) az".utf8).write(to: URL(fileURLWithPath: path))
            } else {
                let held = try HeldStripes(in: "\(storage.directory.path)/cache")
                lock.withLock { $0 = held }
            }
        } ending: { _ in
            lock.withLock { $0 = nil }
            if store == .shared { unsafe unlink("\(storage.directory.path)/msal.json.lockfile") }
        }
    }

    private func survives(
        _ trouble: String,
        _ store: Store,
        _ storage: Storage,
        _ error: String,
        beginning: (WorkerProcess) throws -> Void,
        ending: (WorkerProcess) throws -> Void
    ) async throws {
        let setup = try await SharedCacheSetup(storage)
        let worker = try await setup.worker { orders in
            orders.rounds = 3
            orders.forces = true
        }
        // All libraries are loaded, and the connection is open.
        worker.go()
        #expect(try #require(try await worker.report()).error == nil)
        let before = setup.sentRefreshTokens.count
        try beginning(worker)
        worker.go()
        let report = try #require(try await worker.report(1))
        #expect(report.error == error, "\(report)")
        #expect(setup.sentRefreshTokens.count == before)
        try ending(worker)
        worker.go()
        let after = try #require(try await worker.report(2))
        #expect(after.error == nil && after.unsaved == nil && after.source == "identityProvider", "\(after)")
        let next = try #require(try await setup.refresh())
        #expect(next.error == nil && next.source == "identityProvider", "\(next)")
        let sent = setup.sentRefreshTokens
        #expect(sent.count == before + 2 && Set(sent).count == sent.count)
        print("HAPPENED \(store) \(trouble) 1")
        fflush(nil)
    }
}

/// The keyring is killed before the request, or between the request and the write, and started again.
@Suite(.serialized, .timeLimit(.minutes(5)), .enabled(if: KeyringSession.script != nil, "run Scripts/soak"))
struct KilledKeyringTests {
    private static let inKeyring = Store.chosen.filter { [.keyring, .sharedItem].contains($0) }

    @Test(arguments: inKeyring)
    func sendsNothingWithoutTheKeyring(_ store: Store) async throws {
        let session = try await KeyringSession()
        let setup = try await SharedCacheSetup(Storage(store, bus: session.bus))
        let worker = try await setup.worker { orders in
            orders.rounds = 2
            orders.forces = true
        }
        try await session.end()
        worker.go()
        let report = try #require(try await worker.report())
        #expect(report.error?.hasPrefix("cache") == true, "\(report)")
        #expect(setup.sentRefreshTokens.isEmpty)
        try await session.begin()
        worker.go()
        #expect(try #require(try await worker.report(1)).error == nil)
        #expect(try #require(try await setup.refresh()).error == nil)
        #expect(setup.sentRefreshTokens.count == 2 && Set(setup.sentRefreshTokens).count == 2)
        print("HAPPENED \(store) killed-keyring 1")
        fflush(nil)
    }

    /// A process that has its answer waits for the keyring, which a person or the system starts again.
    @Test(arguments: inKeyring)
    func storesTheAnswerOnceTheKeyringIsBack(_ store: Store) async throws {
        let session = try await KeyringSession()
        let setup = try await SharedCacheSetup(Storage(store, bus: session.bus))
        let gate = TestGate()
        setup.provider.failNext(.token, with: .held(by: gate))
        let worker = try await setup.worker { $0.rounds = 2 }
        worker.go()
        try await setup.provider.waitForRequest(.token)
        try await session.end()
        gate.open()
        try await session.begin()
        let first = try #require(try await worker.report())
        #expect(first.error == nil && first.token != nil, "\(first)")
        if store == .keyring { #expect(first.unsaved == nil, "\(first)") }
        worker.go()
        #expect(try #require(try await worker.report(1)).token == first.token)
        let next = try #require(try await setup.refresh())
        #expect(next.error == nil, "\(next)")
        #expect(setup.sentRefreshTokens.count == 2 && Set(setup.sentRefreshTokens).count == 2)
        print("HAPPENED \(store) killed-keyring-meanwhile 1")
        fflush(nil)
    }
}

/// All locks of the records in a directory, as a process that hangs would hold them: not those of leases.
private final class HeldStripes: Sendable {
    private let locks: [HeldLock]

    init(in path: String) throws {
        var locks: [HeldLock] = []
        for group in try FileManager.default.contentsOfDirectory(atPath: path) {
            for file in try FileManager.default.contentsOfDirectory(atPath: "\(path)/\(group)")
            where file.hasPrefix("account-") {
                guard let directory = try SecureDirectory.open(path, group),
                    let lock = try FileLock.take(FileCacheName.stripe(file), in: directory)
                else { throw AuthenticationError(.cacheBusy, "The test has it to itself.") }
                locks.append(HeldLock(lock))
            }
        }
        self.locks = locks
    }
}

extension WorkerProcess {
    /// Sets a soft limit of the running process.
    fileprivate func limit(_ name: String, _ value: String) throws {
        let program = Process()
        program.executableURL = URL(fileURLWithPath: "/usr/bin/prlimit")
        program.arguments = ["--pid", "\(process)", "--\(name)=\(value):"]
        try program.run()
        program.waitUntilExit()
        guard program.terminationStatus == 0 else { throw LimitFailed(name: name) }
    }

    /// The limit under which the process can open that many more files.
    fileprivate func limitOfDescriptors(leaving count: Int) throws -> Int {
        let names = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd")
        let open = Set(names.compactMap(Int.init))
        var (limit, free) = (0, 0)
        while free < count {
            if !open.contains(limit) { free += 1 }
            limit += 1
        }
        return limit
    }
}

private struct LimitFailed: Error { let name: String }
