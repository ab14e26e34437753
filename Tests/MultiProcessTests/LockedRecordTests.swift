// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityTestSupport
import IdentityTesting
import Testing

@testable import IdentityClient

/// Another process holds the record's lock for longer than a writer waits, while a refresh is in progress.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct LockedRecordTests {
    @Test func nobodyElseSendsTheRefreshTokenThatIsSpent() async throws {
        let storage = try Storage(.file)
        let house = try await Household(storage)
        let gate = Gate()
        house.provider.failNext(.token, with: .held(by: gate))
        // Its third round never comes. It must not end, because an ended process keeps no lease.
        let (first, second) = (try await house.worker { $0.rounds = 3 }, try await house.worker())
        first.go()
        try await house.provider.waitForRequest(.token)
        let key = try #require(try await storage.cache.records(of: .account, in: house.group).keys.first)
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
        #expect(house.sentRefreshTokens.count == 1)
        lock = nil
        let shared = try #require(try await second.report())
        #expect(shared.token == refreshed.token && shared.source == "cache", "\(shared)")
        #expect(try #require(try await house.refresh()).error == nil)
        #expect(Set(house.sentRefreshTokens).count == 2 && house.sentRefreshTokens.count == 2)
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
