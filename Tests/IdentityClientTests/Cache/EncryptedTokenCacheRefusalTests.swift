// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityTestSupport
import IdentityTesting
import Synchronization
import Testing

@testable import IdentityClient

/// Records that this key did not write here are refused, and stay.
@Suite struct EncryptedTokenCacheRefusalTests {
    let base = InMemoryTokenCache()
    let secret = EncryptionKey.random()
    let key: CacheKey
    let one = CacheRecord(bytes: Array("canary one".utf8))
    let stored: CacheRecord

    init() throws {
        key = CacheKey(group: try CacheGroup("suite"), kind: .account, name: String(repeating: "a1", count: 32))
        stored = try SealedRecord.seal(one, for: key, with: secret)
    }

    @Test func refusesAFlippedBitAnywhere() async throws {
        for index in stored.bytes.indices {
            for bit in 0..<8 {
                var bytes = stored.bytes
                bytes[index] ^= 1 << UInt8(bit)
                try await expectRefusal(of: CacheRecord(bytes: bytes), "byte \(index), bit \(bit)") {
                    index == 4 && bytes[4] > 1 ? .cacheNewerVersion : .cacheUndecryptable
                }
            }
        }
    }

    @Test func refusesARecordThatWasCutShortOrGrew() async throws {
        for length in 0..<stored.bytes.count {
            try await expectRefusal(of: CacheRecord(bytes: Array(stored.bytes.prefix(length))), "\(length) bytes")
        }
        try await expectRefusal(of: CacheRecord(bytes: stored.bytes + [0]), "one byte more")
    }

    @Test func refusesARecordInAnothersPlace() async throws {
        let places = [
            CacheKey(group: key.group, kind: .account, name: String(key.name.reversed())),
            CacheKey(group: key.group, kind: .application, name: key.name),
            CacheKey(group: try CacheGroup("suit"), kind: .init(rawValue: "eaccount"), name: key.name),
            CacheKey(group: try CacheGroup("other"), kind: .account, name: key.name),
        ]
        for place in places { try await expectRefusal(of: stored, at: place, "at \(place)") }
    }

    @Test(arguments: ["", "{\"v\":1}", "canary"]) func refusesClearText(text: String) async throws {
        try await expectRefusal(of: CacheRecord(bytes: Array(text.utf8)), text)
    }

    @Test func refusesARecordOfAnotherKeyAndLeavesIt() async throws {
        _ = try await base.replace(nil, with: stored, for: key)
        let cache = EncryptedTokenCache(base, key: .random())
        for call in 0..<4 {
            let error = await #expect(throws: AuthenticationError.self) {
                switch call {
                case 0: _ = try await cache.record(for: key)
                case 1: _ = try await cache.records(of: .account, in: key.group)
                case 2: _ = try await cache.replace(one, with: nil, for: key)
                default: _ = try await cache.replace(one, with: CacheRecord(bytes: []), for: key)
                }
            }
            #expect(error?.code == .cacheUndecryptable)
            #expect(error?.message.contains("another key") == true)
        }
        #expect(try await cache.replace(nil, with: one, for: key) == false)
        #expect(try await base.record(for: key) == stored)
    }

    @Test func doesNotServeWhatItRememberedOfARecordThatWasTamperedWithLater() async throws {
        _ = try await base.replace(nil, with: stored, for: key)
        let cache = EncryptedTokenCache(base, key: secret)
        #expect(try await cache.record(for: key) == one)
        var bytes = stored.bytes
        bytes[30] ^= 1
        _ = try await base.replace(stored, with: CacheRecord(bytes: bytes), for: key)
        let error = await #expect(throws: AuthenticationError.self) { try await cache.record(for: key) }
        #expect(error?.code == .cacheUndecryptable)
    }

    @Test func removesWhatCannotBeDecryptedOnlyWhenToldTo() async throws {
        let cache = EncryptedTokenCache(base, key: secret)
        let lost = CacheKey(group: key.group, kind: .provider, name: "b1")
        let newer = CacheKey(group: key.group, kind: .application, name: "c1")
        var newerBytes = stored.bytes
        newerBytes[4] = 2
        _ = try await base.replace(nil, with: stored, for: key)
        _ = try await base.replace(nil, with: SealedRecord.seal(one, for: lost, with: .random()), for: lost)
        _ = try await base.replace(nil, with: CacheRecord(bytes: newerBytes), for: newer)
        #expect(try await cache.removeUndecryptableRecords(in: key.group) == 1)
        #expect(try await cache.record(for: key) == one)
        #expect(try await cache.record(for: lost) == nil)
        #expect(try await base.record(for: newer)?.bytes == newerBytes)
        let locked = EncryptedTokenCache(base, keyFrom: UnreliableProvider(failures: .max))
        await #expect(throws: AuthenticationError.self) { try await locked.removeUndecryptableRecords(in: key.group) }
        #expect(try await base.record(for: key) == stored)
    }

    private func expectRefusal(
        of record: CacheRecord,
        at place: CacheKey? = nil,
        _ what: String,
        with code: () -> AuthenticationError.Code = { .cacheUndecryptable }
    ) async throws {
        let place = place ?? key
        let base = InMemoryTokenCache()
        _ = try await base.replace(nil, with: record, for: place)
        let cache = EncryptedTokenCache(base, key: secret)
        let error = await #expect(throws: AuthenticationError.self, "\(what)") { try await cache.record(for: place) }
        #expect(error?.code == code(), "\(what)")
        #expect(error?.description.contains("canary") == false)
        #expect(try await base.record(for: place) == record)
    }
}

@Suite struct EncryptedTokenCacheKeyTests {
    let base = InMemoryTokenCache()
    let key: CacheKey
    let one = CacheRecord(bytes: [1])

    init() throws {
        key = CacheKey(group: try CacheGroup("suite"), kind: .account, name: "a1")
    }

    @Test func asksForTheKeyOnceAndOnlyWhenItIsNeeded() async throws {
        let provider = UnreliableProvider()
        let cache = EncryptedTokenCache(base, keyFrom: provider)
        #expect(try await cache.record(for: key) == nil)
        #expect(try await cache.records(of: .account, in: key.group).isEmpty)
        #expect(try await cache.replace(nil, with: nil, for: key))
        #expect(provider.calls.withLock { $0 } == 0)
        #expect(try await cache.replace(nil, with: one, for: key))
        for byte in UInt8(2)..<20 {
            let (old, new) = (CacheRecord(bytes: [byte - 1]), CacheRecord(bytes: [byte]))
            #expect(try await cache.replace(old, with: new, for: key))
        }
        #expect(try await cache.records(of: .account, in: key.group).count == 1)
        #expect(provider.calls.withLock { $0 } == 1)
        // Callers that wait for the same key share one request.
        let reader = UnreliableProvider()
        let others = EncryptedTokenCache(InMemoryTokenCache(), keyFrom: reader)
        #expect(try await others.replace(nil, with: one, for: key))
        await withTaskGroup { group in
            for _ in 0..<20 {
                group.addTask { #expect((try? await others.record(for: key)) == one) }
            }
        }
        #expect(reader.calls.withLock { $0 } == 1)
    }

    /// The records and their key were removed, and another program has started with a new key.
    @Test func writesANewRecordWithTheKeyThatOthersHaveNow() async throws {
        let new = EncryptionKey.random()
        let provider = UnreliableProvider(.random())
        let cache = EncryptedTokenCache(base, keyFrom: provider)
        #expect(try await cache.replace(nil, with: one, for: key))
        let stored = try await base.record(for: key)
        #expect(try await base.replace(stored, with: nil, for: key))
        provider.change(to: new)
        #expect(try await cache.replace(nil, with: one, for: key))
        #expect(try await EncryptedTokenCache(base, key: new).record(for: key) == one)
    }

    @Test func asksAgainAfterAFailureAndNeverLooksEmpty() async throws {
        let secret = EncryptionKey.random()
        _ = try await base.replace(nil, with: SealedRecord.seal(one, for: key, with: secret), for: key)
        let cache = EncryptedTokenCache(base, keyFrom: UnreliableProvider(secret, failures: 2))
        for _ in 0..<2 {
            let error = await #expect(throws: AuthenticationError.self) { try await cache.record(for: key) }
            #expect(error?.code == .cacheKeyUnavailable)
            #expect(error?.underlyingError is UnreliableProvider.Unplugged)
        }
        #expect(try await cache.record(for: key) == one)
    }

    @Test func passesOnWhatAKeyringSays() async throws {
        let locked = AuthenticationError(.init(rawValue: "cache.keyring_locked"), "Unlock it.")
        let cache = EncryptedTokenCache(base, keyFrom: UnreliableProvider(failures: .max, with: locked))
        let error = await #expect(throws: AuthenticationError.self) {
            try await cache.replace(nil, with: one, for: key)
        }
        #expect(error?.code == locked.code)
    }

    @Test func findsTheKeyThatAnotherProgramBeganWith() async throws {
        let (old, new) = (EncryptionKey.random(), EncryptionKey.random())
        let provider = UnreliableProvider(old)
        let cache = EncryptedTokenCache(base, keyFrom: provider)
        #expect(try await cache.replace(nil, with: one, for: key))
        provider.change(to: new)
        let other = CacheKey(group: key.group, kind: .account, name: "b1")
        #expect(try await EncryptedTokenCache(base, key: new).replace(nil, with: one, for: other))
        #expect(try await cache.record(for: other) == one)
        #expect(provider.calls.withLock { $0 } == 2)
    }

    @Test(arguments: [0, 16, 31, 33]) func takesAKeyOf32BytesOnly(count: Int) {
        let error = #expect(throws: AuthenticationError.self) { try EncryptionKey([UInt8](repeating: 1, count: count)) }
        #expect(error?.code == .invalidArgument)
    }

    @Test func showsNothingOfAKey() throws {
        let key = try EncryptionKey(Array("0123456789abcdef0123456789abcdef".utf8))
        var dumped = ""
        dump(key, to: &dumped)
        for text in ["\(key)", String(reflecting: key), dumped, "\([key])"] {
            #expect(!text.contains("0123") && !text.contains("48"), "\(text)")
        }
        #expect(try EncryptionKey(key.bytes) == key)
        #expect(EncryptionKey.random() != EncryptionKey.random())
    }
}
