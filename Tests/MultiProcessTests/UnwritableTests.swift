// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityKeyring
import IdentityTestSupport
import IdentityTesting
import Testing

/// The storage fails between the answer and the write. The program goes on with the token in memory, and reports the
/// failure.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct UnwritableTests {
    @Test(.enabled(if: Disk.isMountable, "only root can mount"))
    func losesNothingOnAFullDisk() async throws {
        try await losesNothing(on: Disk(kilobytes: 128))
    }

    @Test(.enabled(if: Disk.hasQuotas, "needs root and Btrfs"))
    func losesNothingWhenTheQuotaIsUsedUp() async throws {
        try await losesNothing(on: Disk(quotaKilobytes: 512))
    }

    /// If the disk is full before the lease is written, no request is sent, so nothing can be lost.
    private func losesNothing(on disk: Disk) async throws {
        let setup = try await SharedCacheSetup(Storage(.file, directory: disk.directory))
        let worker = try await setup.worker { $0.rounds = 3 }
        try disk.fill()
        worker.go()
        let first = try #require(try await worker.report())
        #expect(first.error == "cache.full" || first.unsaved == "cache.full", "\(first)")
        worker.go()
        let second = try #require(try await worker.report(1))
        if first.unsaved != nil { #expect(second.token == first.token && second.error == nil) }
        try disk.empty()
        worker.go()
        #expect(try #require(try await worker.report(2)).error == nil)
        let next = try #require(try await setup.acquire())
        #expect(next.error == nil, "\(next)")
        let sent = setup.sentRefreshTokens
        #expect(Set(sent).count == sent.count)
    }

    @Test(.enabled(if: Disk.isMountable, "only root can mount"))
    func keepsTheTokenInMemoryWhenTheDiskFillsUpMeanwhile() async throws {
        let disk = try Disk(kilobytes: 128)
        try await keepsTheToken(on: disk, unsaved: .cacheFull, breaking: disk.fill, repairing: disk.empty)
    }

    @Test(.enabled(if: Disk.hasQuotas, "needs root and Btrfs"))
    func keepsTheTokenInMemoryWhenTheQuotaIsUsedUpMeanwhile() async throws {
        let disk = try Disk(quotaKilobytes: 512)
        try await keepsTheToken(on: disk, unsaved: .cacheFull, breaking: disk.fill, repairing: disk.empty)
    }

    @Test(.enabled(if: Disk.isMountable, "only root can mount"))
    func keepsTheTokenInMemoryWhenTheDiskBecomesReadOnly() async throws {
        let disk = try Disk(kilobytes: 256)
        try await keepsTheToken(
            on: disk,
            unsaved: .cachePermissions,
            breaking: { try disk.remount(readOnly: true) },
            repairing: { try disk.remount(readOnly: false) }
        )
    }

    /// The disk fails while the request is in progress. The token is returned, and stored once that is possible.
    private func keepsTheToken(
        on disk: Disk,
        unsaved: AuthenticationError.Code,
        breaking: () throws -> Void,
        repairing: () throws -> Void
    ) async throws {
        let setup = try await SharedCacheSetup(Storage(.file, directory: disk.directory))
        let gate = Gate()
        setup.provider.failNext(.token, with: .held(by: gate))
        let worker = try await setup.worker { $0.rounds = 3 }
        worker.go()
        try await setup.provider.waitForRequest(.token)
        try breaking()
        gate.open()
        let first = try #require(try await worker.report())
        #expect(first.error == nil && first.token != nil && first.unsaved == unsaved.rawValue, "\(first)")
        worker.go()
        #expect(try #require(try await worker.report(1)).token == first.token)
        try repairing()
        worker.go()
        #expect(try #require(try await worker.report(2)).token == first.token)
        let next = try #require(try await setup.acquire())
        #expect(next.token == first.token && next.source == "cache", "It was written when that could be: \(next)")
        #expect(try #require(try await setup.refresh()).error == nil)
    }

    /// The message for a person who is about to sign in.
    @Test(.enabled(if: Disk.isMountable, "only root can mount"))
    func saysBeforehandThatNothingCanBeWritten() async throws {
        let disk = try Disk(kilobytes: 128)
        let (cache, group) = (FileTokenCache(directory: "\(disk.directory.path)/tokens"), try CacheGroup("suite"))
        try await cache.checkWritable(in: group)
        try disk.fill()
        #expect(await Self.code { try await cache.checkWritable(in: group) } == .cacheFull)
        try disk.empty()
        try disk.remount(readOnly: true)
        #expect(await Self.code { try await cache.checkWritable(in: group) } == .cachePermissions)
        #expect(try cache.inspect().problem?.code == .cachePermissions)
        let unmade = FileTokenCache(directory: "\(disk.directory.path)/of/no/tokens")
        #expect(try unmade.inspect().problem?.code == .cachePermissions)
        try disk.remount(readOnly: false)
        #expect(try cache.inspect().problem == nil && unmade.inspect().problem == nil)
        #expect(await Self.code { try await cache.checkWritable(in: group) } == nil)
    }

    /// For every kind of storage, the record of the failure is a file.
    @Test(.enabled(if: Disk.isMountable, "only root can mount"))
    func saysBeforehandThatADesktopsStoreCannotBeRemembered() async throws {
        let disk = try Disk(kilobytes: 128)
        let group = try CacheGroup("suite")
        let keyring = InMemoryTokenCache()
        let path = "\(disk.directory.path)/tokens"
        let cache = DesktopTokenCache(policy: .require(.keyring), directory: path, keyring: keyring) {}
        try await cache.checkWritable(in: group)
        try disk.fill()
        #expect(await Self.code { try await cache.checkWritable(in: group) } == .cacheFull)
        #expect(try await keyring.records(of: .account, in: group).isEmpty)
    }

    @Test(.enabled(if: Disk.hasQuotas, "needs root and Btrfs"))
    func saysBeforehandThatTheQuotaIsUsedUp() async throws {
        let disk = try Disk(quotaKilobytes: 512)
        let (cache, group) = (FileTokenCache(directory: "\(disk.directory.path)/tokens"), try CacheGroup("suite"))
        try await cache.checkWritable(in: group)
        try disk.fill()
        #expect(await Self.code { try await cache.checkWritable(in: group) } == .cacheFull)
    }

    private static func code(_ work: () async throws -> Void) async -> AuthenticationError.Code? {
        do {
            try await work()
            return nil
        } catch {
            return (error as? AuthenticationError)?.code ?? .cache
        }
    }

    /// Removing the directory signs every account out. A refresh in progress does not bring the accounts back.
    @Test func bringsNothingBackIntoADirectoryThatWasRemoved() async throws {
        let storage = try Storage(.file)
        let setup = try await SharedCacheSetup(storage)
        let gate = Gate()
        setup.provider.failNext(.token, with: .held(by: gate))
        let worker = try await setup.worker()
        worker.go()
        try await setup.provider.waitForRequest(.token)
        try storage.remove()
        gate.open()
        #expect(try #require(try await worker.report()).error == "interaction_required.account_removed")
        #expect(try #require(try await setup.acquire()).error == "no_account")
        try await setup.signIn(.alice)
        #expect(try #require(try await setup.refresh()).error == nil)
    }
}
