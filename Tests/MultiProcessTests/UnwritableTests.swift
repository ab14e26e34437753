// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityCacheTesting
import IdentityClient
import IdentityKeyring
import IdentityTestSupport
import IdentityTesting
import Testing

/// The storage fails before the request, or between the answer and the write.
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
    func storesTheTokenThoughTheDiskFillsUpMeanwhile() async throws {
        try await storesTheToken(on: Disk(kilobytes: 128), mayFail: false)
    }

    /// Btrfs takes space for its own records too when a reserved file is written.
    @Test(.enabled(if: Disk.hasQuotas, "needs root and Btrfs"))
    func losesNothingWhenTheQuotaIsUsedUpMeanwhile() async throws {
        try await storesTheToken(on: Disk(quotaKilobytes: 512), mayFail: true)
    }

    /// The disk fills up while the request is in progress.
    private func storesTheToken(on disk: Disk, mayFail: Bool) async throws {
        let setup = try await SharedCacheSetup(Storage(.file, directory: disk.directory))
        let gate = TestGate()
        setup.provider.failNext(.token, with: .held(by: gate))
        let worker = try await setup.worker { $0.rounds = 3 }
        worker.go()
        try await setup.provider.waitForRequest(.token)
        try disk.fill()
        gate.open()
        let first = try #require(try await worker.report())
        #expect(first.error == nil && first.token != nil, "\(first)")
        #expect(first.unsaved == nil || mayFail && first.unsaved == "cache.full", "\(first)")
        if first.unsaved != nil {
            worker.go()
            #expect(try #require(try await worker.report(1)).token == first.token)
            try disk.empty()
            worker.go()
            #expect(try #require(try await worker.report(2)).token == first.token)
        }
        let next = try #require(try await setup.acquire())
        #expect(next.token == first.token && next.source == "cache", "\(next)")
        if first.unsaved == nil { try disk.empty() }
        #expect(try #require(try await setup.refresh()).error == nil)
    }

    @Test(.enabled(if: Disk.isMountable, "only root can mount"))
    func sendsNothingWhenTheDiskIsReadOnly() async throws {
        let disk = try Disk(kilobytes: 256)
        let setup = try await SharedCacheSetup(Storage(.file, directory: disk.directory))
        try disk.remount(readOnly: true)
        #expect(try #require(try await setup.acquire()).error == "cache.permissions")
        #expect(setup.sentRefreshTokens.isEmpty)
        try disk.remount(readOnly: false)
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
        let gate = TestGate()
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
