// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityTestSupport
import Synchronization
import Testing

@testable import IdentityClient

/// A listing of more records than there is memory for drops nothing of what is in use.
@Suite(.timeLimit(.minutes(1)))
struct SweepTests {
    private let directory: TemporaryDirectory
    private let group: CacheGroup

    init() throws {
        directory = try TemporaryDirectory()
        group = try CacheGroup("suite")
    }

    private func key(_ number: Int) -> CacheKey {
        CacheKey(group: group, kind: .account, name: String(repeating: "\(number % 10)\(number / 10)", count: 32))
    }

    /// Where the bytes of a record are: the same place as long as the record is remembered.
    private func place(_ record: CacheRecord?) throws -> Int {
        let record = try #require(record)
        return unsafe record.bytes.withUnsafeBufferPointer { Int(bitPattern: $0.baseAddress) }
    }

    private func fill(_ cache: some TokenCache) async throws {
        for number in 0..<20 {
            let record = CacheRecord(bytes: [UInt8](repeating: UInt8(number), count: 600_000))
            #expect(try await cache.replace(nil, with: record, for: key(number)))
        }
    }

    @Test func keepsTheFilesInUse() async throws {
        try await fill(FileTokenCache(directory: directory.path))
        let cache = FileTokenCache(directory: directory.path)
        let before = try await cache.record(for: key(7))
        #expect(try await cache.records(of: .account, in: group).count == 20)
        #expect(cache.memory.withLock { $0.entry(for: key(7), counts: false) } != nil)
        #expect(try place(await cache.record(for: key(7))) == place(before))
        #expect(cache.memory.withLock { $0.cost } <= 8 << 20)
    }

    @Test func keepsTheDecryptedRecordsInUse() async throws {
        let secret = EncryptionKey.random()
        let files = InMemoryTokenCache()
        try await fill(EncryptedTokenCache(files, key: secret))
        let cache = EncryptedTokenCache(files, key: secret)
        let before = try await cache.record(for: key(7))
        #expect(try await cache.records(of: .account, in: group).count == 20)
        #expect(try place(await cache.record(for: key(7))) == place(before))
    }
}
