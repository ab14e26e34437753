// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient
import IdentityTestSupport
import Testing

@testable import IdentityKeyring

/// Many processes, many items, and a keyring that ends in the middle.
@Suite(.enabled(if: keyringSupport != nil, "run Scripts/test-keyring"), .serialized)
struct KeyringLoadTests {
    @Test(.timeLimit(.minutes(3))) func losesNothingWhereSixteenProcessesWriteAtOnce() async throws {
        let session = try KeyringSession(.unlocked)
        let (address, directory, shared) = (try session.value("BUS"), "\(session.directory)/locks", try randomKey())
        let name = shared.name
        #expect(try await session.cache().replace(nil, with: CacheRecord("0"), for: shared))
        await withTaskGroup { group in
            for _ in 0..<16 {
                group.addTask {
                    await #expect(processExitsWith: .success) {
                        [
                            address = address as String, directory = directory as String, name = name as String
                        ] in
                        var settings = KeyringSettings(address: address, directory: directory)
                        settings.lockTimeout = .seconds(60)
                        settings.writeTimeout = .seconds(60)
                        settings.readTimeout = .seconds(60)
                        let cache = KeyringTokenCache(applicationName: "Test", settings: settings)
                        let shared = CacheKey(group: try CacheGroup("suite"), kind: .account, name: name)
                        for number in 0..<3 {
                            try await increment(shared, in: cache)
                            let own = CacheRecord("own \(number)")
                            try #require(try await cache.replace(nil, with: own, for: randomKey()))
                        }
                    }
                }
            }
        }
        let cache = try session.cache { $0.readTimeout = .seconds(30) }
        #expect(try await cache.record(for: shared) == CacheRecord("48"))
        #expect(try await cache.records(of: .account, in: shared.group).count == 49)
    }

    /// Other programs' items do not affect the cache, except for the time that the keyring takes to write its file.
    @Test(.timeLimit(.minutes(3))) func readsAndWritesBesideFiveThousandForeignItems() async throws {
        let session = try KeyringSession(.crowded)
        let withLongTimeouts: (inout KeyringSettings) -> Void = {
            $0.readTimeout = .seconds(30)
            $0.writeTimeout = .seconds(60)
        }
        // This keyring has no password: it opens by itself.
        let (cache, key) = (try session.cache(withLongTimeouts), try randomKey())
        #expect(try await !cache.status().isLocked)
        #expect(try await cache.record(for: key) == nil)
        #expect(try await cache.replace(nil, with: CacheRecord("ours"), for: key))
        let other = try session.cache(withLongTimeouts)
        #expect(try await other.record(for: key) == CacheRecord("ours"))
        let start = ContinuousClock.now
        for _ in 0..<1000 { _ = try await other.records(of: .account, in: key.group) }
        #expect(start.duration(to: .now) < .seconds(5))
        #expect(try await other.records(of: .account, in: key.group) == [key: CacheRecord("ours")])
        #expect(try session.run("secret-tool lookup account person-4711") == "not ours 4711")
    }

    @Test(.timeLimit(.minutes(2))) func losesNoAcknowledgedReplacementWhenTheDaemonIsKilled() async throws {
        let session = try KeyringSession(.unlocked)
        let (cache, key) = (try session.cache(), try randomKey())
        #expect(try await cache.replace(nil, with: CacheRecord("0"), for: key))
        var acknowledged = 0
        for round in 0..<6 {
            var (sent, killer) = (acknowledged, Task<Void, any Error>?.none)
            var number = 0
            while sent == acknowledged {
                if number == 2 * round { killer = try await session.killWithTheNextChange(of: key, in: cache) }
                (sent, number) = (acknowledged + 1, number + 1)
                let (old, new) = (CacheRecord("\(acknowledged)"), CacheRecord("\(sent)"))
                // If the result is not true, the answer was lost, and either record may be stored.
                if (try? await cache.replace(old, with: new, for: key)) == true { acknowledged = sent }
            }
            try await killer?.value
            try session.restartKeyring()
            #expect(try await eventually { await failure { try await cache.record(for: key) }.code == nil })
            let found = try #require(try await cache.record(for: key).map { String(decoding: $0.bytes, as: UTF8.self) })
            #expect(found == "\(acknowledged)" || found == "\(sent)", "\(found) of \(acknowledged)")
            acknowledged = try #require(Int(found))
            #expect(try await cache.records(of: .account, in: key.group).count == 1)
        }
        #expect(acknowledged > 6)
    }

    @Test(.timeLimit(.minutes(1))) func hearsOfChangesAgainAfterTheDaemonWasKilled() async throws {
        let session = try KeyringSession(.unlocked)
        let (cache, key) = (try session.cache(), try randomKey())
        let hints = try #require(cache.changes(in: key.group))
        var heard = hints.makeAsyncIterator()
        #expect(try await cache.replace(nil, with: CacheRecord("one"), for: key))
        #expect(await heard.next() == key)
        try session.signal(SIGKILL, "KEYRING_PID")
        try session.restartKeyring()
        // Only the stream waits for the new keyring.
        #expect(try await eventually { cache.connector.isListening })
        try session.run("secret-tool clear name \(key.name)")
        let other = try session.cache()
        let second = try randomKey()
        #expect(try await other.replace(nil, with: CacheRecord("two"), for: second))
        var keys: Set<CacheKey> = []
        while !keys.contains(second), let key = await heard.next() { keys.insert(key) }
        #expect(keys.contains(key))
        #expect(try await cache.record(for: key) == nil)
    }

    @Test(.timeLimit(.minutes(1))) func comesBackWhenTheBusDoes() async throws {
        let session = try KeyringSession(.unlocked)
        let (cache, key) = (try session.cache(), try randomKey())
        #expect(try await cache.replace(nil, with: CacheRecord("kept"), for: key))
        try session.signal(SIGKILL, "BUS_PID")
        #expect(
            try await eventually { await failure { try await cache.record(for: key) }.code == .keyringNoSessionBus }
        )
        try session.restartBus()
        #expect(try await eventually { (try? await cache.record(for: key)) == CacheRecord("kept") })
    }

    @Test(.timeLimit(.minutes(1))) func listsFromMemoryUntilSomethingChanges() async throws {
        let session = try KeyringSession(.unlocked)
        let (cache, other, key) = (try session.cache(), try session.cache(), try randomKey())
        #expect(try await cache.replace(nil, with: CacheRecord("one"), for: key))
        #expect(try await cache.records(of: .account, in: key.group).count == 1)
        try session.signal(SIGSTOP, "KEYRING_PID")
        #expect(try await cache.records(of: .account, in: key.group) == [key: CacheRecord("one")])
        try session.signal(SIGCONT, "KEYRING_PID")
        let second = try randomKey()
        #expect(try await other.replace(nil, with: CacheRecord("two"), for: second))
        #expect(try await cache.records(of: .account, in: key.group).count == 2)
        try session.run("secret-tool clear name \(key.name)")
        #expect(
            try await eventually {
                try await cache.records(of: .account, in: key.group) == [second: CacheRecord("two")]
            }
        )
    }
}
