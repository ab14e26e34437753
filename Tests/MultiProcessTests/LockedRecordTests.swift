// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityCacheTesting
import IdentityTestSupport
import IdentityTesting
import Testing

@testable import IdentityClient

/// Another process holds the record's lock for longer than a writer waits, while a refresh is in progress.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct LockedRecordTests {
    @Test func noOtherProcessSendsTheSpentRefreshToken() async throws {
        let storage = try Storage(.file)
        let setup = try await SharedCacheSetup(storage)
        let gate = TestGate()
        setup.provider.failNext(.token, with: .held(by: gate))
        // Its third round never comes: a process that has ended keeps no lease.
        let (first, second) = (try await setup.worker { $0.rounds = 3 }, try await setup.worker())
        first.go()
        try await setup.provider.waitForRequest(.token)
        let key = try #require(try await storage.cache.records(of: .account, in: setup.group).keys.first)
        var lock: FileLock? = try take(key, in: "\(storage.directory.path)/cache")
        gate.open()
        let refreshed = try #require(try await first.report())
        #expect(refreshed.error == nil && refreshed.unsaved == "cache.busy", "\(refreshed)")
        second.go()
        first.go()
        #expect(try #require(try await first.report(1)).token == refreshed.token)
        // A writer waits for the lock in vain, long enough for the other process to do harm.
        let record = try #require(try await storage.cache.record(for: key))
        let error = await #expect(throws: AuthenticationError.self) {
            try await storage.cache.replace(record, with: nil, for: key)
        }
        #expect(error?.code == .cacheBusy)
        #expect(setup.sentRefreshTokens.count == 1)
        lock = nil
        let shared = try #require(try await second.report())
        #expect(shared.token == refreshed.token && shared.source == "cache", "\(shared)")
        #expect(try #require(try await setup.refresh()).error == nil)
        #expect(Set(setup.sentRefreshTokens).count == 2 && setup.sentRefreshTokens.count == 2)
        _ = consume lock
    }

    private func take(_ key: CacheKey, in path: String) throws -> FileLock {
        let stripe = FileCacheName.stripe(try FileCacheName.record(key))
        guard let directory = try SecureDirectory.open(path, key.group.name),
            let lock = try FileLock.take(stripe, in: directory)
        else { throw AuthenticationError(.cacheBusy, "The test has it to itself.") }
        return lock
    }
}
