// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityCacheTesting
import IdentityTestSupport
import IdentityTesting
import Synchronization
import Testing

@testable import IdentityClient

@Suite struct EncryptedTokenCacheTests {
    let base = InMemoryTokenCache()
    let secret = EncryptionKey.random()
    let cache: EncryptedTokenCache
    let key: CacheKey
    let one = CacheRecord(bytes: Array("canary one".utf8))
    let two = CacheRecord(bytes: Array("canary two".utf8))

    init() throws {
        cache = EncryptedTokenCache(base, key: secret)
        key = CacheKey(group: try CacheGroup("suite"), kind: .account, name: String(repeating: "a1", count: 32))
    }

    @Test(.timeLimit(.minutes(1))) func conformsAroundMemory() async throws {
        let (base, secret) = (base, secret)
        try await TokenCacheConformance { EncryptedTokenCache(base, key: secret) }.run()
        #expect(base.recordCount == 0)
    }

    @Test(.timeLimit(.minutes(5))) func conformsAroundFiles() async throws {
        let directory = try TemporaryDirectory()
        let (path, secret) = (directory.path, secret)
        try await TokenCacheConformance(costRecords: 1000) {
            EncryptedTokenCache(FileTokenCache(directory: path), key: secret)
        }.run()
    }

    @Test func readsWhatItStoredAndAnotherObjectToo() async throws {
        #expect(try await cache.replace(nil, with: one, for: key))
        #expect(try await cache.record(for: key) == one)
        let other = EncryptedTokenCache(base, key: secret)
        #expect(try await other.record(for: key) == one)
        #expect(try await other.replace(one, with: two, for: key))
        #expect(try await cache.record(for: key) == two)
        #expect(try await cache.records(of: .account, in: key.group) == [key: two])
    }

    @Test(arguments: [CacheKey.Kind.account, .application, .provider, .init(rawValue: "later")])
    func letsNothingThroughInClearText(kind: CacheKey.Kind) async throws {
        let key = CacheKey(group: key.group, kind: kind, name: key.name)
        #expect(try await cache.replace(nil, with: one, for: key))
        let stored = try #require(try await base.record(for: key))
        #expect(stored.bytes.count == one.bytes.count + SealedRecord.overhead)
        #expect(!String(decoding: stored.bytes, as: UTF8.self).contains("canary"))
        #expect(!String(decoding: stored.bytes, as: UTF8.self).contains("one"))
    }

    @Test func letsLeasesThroughAsTheyAre() async throws {
        let lease = key.lease
        let locked = EncryptedTokenCache(base, keyFrom: UnreliableProvider(failures: .max))
        #expect(try await locked.replace(nil, with: one, for: lease))
        #expect(try await base.record(for: lease) == one)
        #expect(try await cache.record(for: lease) == one)
        #expect(try await cache.records(of: .lease, in: key.group) == [lease: one])
    }

    @Test func storesTheSameRecordInOtherBytesEachTime() async throws {
        #expect(try await cache.replace(nil, with: one, for: key))
        let first = try #require(try await base.record(for: key))
        #expect(try await cache.replace(one, with: one, for: key))
        let second = try #require(try await base.record(for: key))
        #expect(first.bytes[13..<25] != second.bytes[13..<25])
        #expect(first.bytes[25...] != second.bytes[25...])
    }

    /// Made by another implementation of AES-GCM from the format's description.
    @Test func readsTheFormatThatIsDescribed() async throws {
        let text = "8a53494301a66a4a4229e7f68e6465666768696a6b6c6d6e6f3339a84443d82b2a9dc1af2d1012a85c31109a9b57dcde"
        let digits = Array(text)
        let bytes = try stride(from: 0, to: digits.count, by: 2).map {
            try #require(UInt8(String(digits[$0...($0 + 1)]), radix: 16))
        }
        _ = try await base.replace(nil, with: CacheRecord(bytes: bytes), for: key)
        let cache = EncryptedTokenCache(base, key: try EncryptionKey(Array(0..<32)))
        #expect(try await cache.record(for: key)?.bytes == Array(#"{"v":1}"#.utf8))
    }

    @Test func refusesARecordOfMoreThanOneMebibyte() async throws {
        let large = CacheRecord(bytes: [UInt8](repeating: 7, count: (1 << 20) + 1))
        let error = await #expect(throws: AuthenticationError.self) {
            try await cache.replace(nil, with: large, for: key)
        }
        #expect(error?.code == .invalidArgument)
    }

    @Test func replacesWhereTheSameRecordWasEncryptedAnewInBetween() async throws {
        #expect(try await cache.replace(nil, with: one, for: key))
        let (other, key, one) = (EncryptedTokenCache(base, key: secret), key, one)
        let disturbed = DisturbedCache(base) { _ = try await other.replace(one, with: one, for: key) }
        #expect(try await EncryptedTokenCache(disturbed, key: secret).replace(one, with: two, for: key))
        #expect(try await cache.record(for: key) == two)
    }

    @Test func doesNotReplaceWhereAnotherRecordCameInBetween() async throws {
        #expect(try await cache.replace(nil, with: one, for: key))
        let (other, key, one) = (EncryptedTokenCache(base, key: secret), key, one)
        let three = CacheRecord(bytes: [3])
        let disturbed = DisturbedCache(base) { _ = try await other.replace(one, with: three, for: key) }
        #expect(try await EncryptedTokenCache(disturbed, key: secret).replace(one, with: two, for: key) == false)
        #expect(try await cache.record(for: key) == three)
    }

    @Test func returnsTheSameArrayWhileTheRecordIsUnchanged() async throws {
        let fresh = EncryptedTokenCache(base, key: secret)
        #expect(try await cache.replace(nil, with: one, for: key))
        #expect(address(try await cache.record(for: key)) == address(one))
        let first = try #require(try await fresh.record(for: key))
        #expect(address(first) != address(one))
        #expect(address(try await fresh.record(for: key)) == address(first))
        #expect(address(try await fresh.records(of: .account, in: key.group)[key]) == address(first))
        #expect(try await cache.replace(one, with: CacheRecord(bytes: one.bytes.map { $0 }), for: key))
        #expect(address(try await fresh.record(for: key)) == address(first), "encrypted anew, with the same content")
    }

    @Test(.timeLimit(.minutes(1))) func doesNotDecryptForAHit() async throws {
        let large = CacheRecord(bytes: (0..<(1 << 20)).map { UInt8(truncatingIfNeeded: $0) })
        #expect(try await cache.replace(nil, with: large, for: key))
        let stored = try #require(try await base.record(for: key))
        var (hit, decryption) = (Duration.seconds(60), Duration.seconds(60))
        for _ in 0..<20 {
            hit = min(hit, try await ContinuousClock().measure { _ = try await cache.record(for: key) })
            decryption = min(
                decryption,
                try ContinuousClock().measure { _ = try SealedRecord(stored, for: key).open(with: secret) }
            )
        }
        #expect(hit < decryption / 10, "a hit took \(hit), decrypting \(decryption)")
    }

    @Test func keepsABoundedAmountInMemory() {
        var memory = DecryptedMemory(limit: 10_000)
        for number in 0..<100 {
            let key = CacheKey(group: key.group, kind: .account, name: "\(number)")
            memory.remember(one, sealed: CacheRecord(bytes: [UInt8(number)]), for: key)
            #expect(memory.cost <= 10_000)
        }
        let newest = CacheKey(group: key.group, kind: .account, name: "99")
        #expect(memory.record(in: CacheRecord(bytes: [99]), for: newest) == one)
        #expect(memory.record(in: CacheRecord(bytes: [98]), for: newest) == nil)
        for number in 0..<100 {
            memory.remember(nil, sealed: nil, for: CacheKey(group: key.group, kind: .account, name: "\(number)"))
        }
        #expect(memory.cost == 0)
    }

    @Test func canBeWrittenWhenTheKeyIsThereAndTheCacheBeneathCan() async throws {
        let provider = UnreliableProvider(failures: 1)
        let base = UnreliableCache()
        base.refusedWrites = [.account]
        let cache = EncryptedTokenCache(base, keyFrom: provider)
        await #expect(throws: UnreliableCache.Failure.self) { try await cache.checkWritable(in: key.group) }
        // The keyring is not opened unnecessarily.
        #expect(provider.calls.withLock(\.self) == 0)
        base.refusedWrites = []
        let error = await #expect(throws: AuthenticationError.self) { try await cache.checkWritable(in: key.group) }
        #expect(error?.code == .cacheKeyUnavailable)
        try await cache.checkWritable(in: key.group)
    }

    @Test(.timeLimit(.minutes(1))) func passesTheHintsOn() async throws {
        let hints = try #require(cache.changes(in: key.group))
        #expect(try await cache.replace(nil, with: one, for: key))
        for await hint in hints {
            #expect(hint == key)
            break
        }
    }

    private func address(_ record: CacheRecord?) -> Int? {
        unsafe record?.bytes.withUnsafeBufferPointer { Int(bitPattern: $0.baseAddress) }
    }
}

/// A key provider that fails at first.
final class UnreliableProvider: EncryptionKeyProvider {
    struct Unplugged: Error {}

    let calls = Mutex(0)
    private let key: Mutex<EncryptionKey>
    private let failures: Int
    private let failure: any Error

    init(_ key: EncryptionKey = .random(), failures: Int = 0, with failure: any Error = Unplugged()) {
        self.key = Mutex(key)
        self.failures = failures
        self.failure = failure
    }

    func change(to key: EncryptionKey) {
        self.key.withLock { $0 = key }
    }

    func encryptionKey() async throws -> EncryptionKey {
        let call = calls.withLock { calls in
            calls += 1
            return calls
        }
        for _ in 0..<10 { await Task.yield() }
        if call <= failures { throw failure }
        return key.withLock { $0 }
    }
}

/// Runs some work just before the first `replace`.
private final class DisturbedCache: TokenCache {
    private let base: any TokenCache
    private let disturbance: @Sendable () async throws -> Void
    private let isDone = Mutex(false)

    init(_ base: any TokenCache, _ disturbance: @escaping @Sendable () async throws -> Void) {
        self.base = base
        self.disturbance = disturbance
    }

    func record(for key: CacheKey) async throws -> CacheRecord? { try await base.record(for: key) }

    func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        try await base.records(of: kind, in: group)
    }

    func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool {
        let isFirst = isDone.withLock { isDone in
            defer { isDone = true }
            return !isDone
        }
        if isFirst { try await disturbance() }
        return try await base.replace(expected, with: new, for: key)
    }
}
