// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

@testable import IdentityClient
@testable import IdentityMSALCaches

/// The record of a client's key, in every store.
@Suite(.timeLimit(.minutes(1)))
struct PossessionKeyTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func keys(
        _ cache: any TokenCache,
        _ client: String = "client",
        _ group: CacheGroup? = nil
    ) -> PossessionKeys {
        let group = group ?? .application(ClientID(rawValue: client))
        return PossessionKeys(store: CredentialStore(cache: cache, group: group, clientID: client))
    }

    private func files() -> FileTokenCache { FileTokenCache(directory: "\(directory.path)/tokens") }

    @Test func isMadeOnceByAllWhoNeedItAtTheSameTime() async throws {
        // Each has a cache of its own, as each process has.
        let all = (0..<3).map { _ in keys(files()) }
        let found = try await withThrowingTaskGroup(of: String.self) { group in
            for keys in all + all { group.addTask { try await keys.key().keyID } }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(found.count == 1)
        #expect(try await keys(files()).key().keyID == found.first)
    }

    @Test func isASecretFile() async throws {
        let keys = keys(files())
        _ = try await keys.key()
        let tokens = "\(directory.path)/tokens"
        let names = try FileManager.default.subpathsOfDirectory(atPath: tokens).filter { $0.contains("application-") }
        #expect(names.count == 1)
        var status = stat()
        #expect(unsafe lstat("\(tokens)/\(try #require(names.first))", &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
    }

    @Test func isEncryptedWithTheRest() async throws {
        let key = try EncryptionKey(Array(repeating: 7, count: 32))
        let cache = EncryptedTokenCache(files(), key: key)
        let keys = keys(cache)
        let made = try await keys.key()
        #expect(try await self.keys(cache).key().keyID == made.keyID)
        let bytes = try #require(try await files().record(for: keys.name)?.bytes)
        #expect(!String(decoding: bytes, as: UTF8.self).contains("private_key"))
        // A program without the key of the store does not replace what it cannot read.
        try await expectError(.cacheUndecryptable) { try await self.keys(files()).key() }
        #expect(try await files().record(for: keys.name)?.bytes == bytes)
    }

    @Test func isSharedThroughAFileOfOtherPrograms() async throws {
        func cache() throws -> SharedMSALCache {
            try SharedMSALCache(.file("\(directory.path)/msal.json"), clientID: "client", fallback: files())
        }
        let made = try await keys(cache()).key()
        #expect(try await keys(cache()).key().keyID == made.keyID)
        #expect(!FileManager.default.fileExists(atPath: "\(directory.path)/msal.json"))
    }

    @Test func belongsToOneClient() async throws {
        let cache = InMemoryTokenCache()
        let first = try await keys(cache, "one").key()
        #expect(try await keys(cache, "two").key().keyID != first.keyID)
        #expect(try await keys(cache, "one").key().keyID == first.keyID)
    }

    @Test func belongsToOneGroup() async throws {
        let cache = InMemoryTokenCache()
        let (one, two) = (try CacheGroup("one"), try CacheGroup("two"))
        let first = try await keys(cache, "client", one).key()
        #expect(try await keys(cache, "client", two).key().keyID != first.keyID)
        // Clients that share a group have a key each.
        #expect(try await keys(cache, "other", one).key().keyID != first.keyID)
        #expect(try await keys(cache, "client", one).key().keyID == first.keyID)
    }

    @Test func isReadAgainWhereAnotherProcessReplacedIt() async throws {
        let cache = InMemoryTokenCache()
        let keys = keys(cache)
        let first = try await keys.key()
        _ = try await cache.replace(cache.record(for: keys.name), with: nil, for: keys.name)
        let second = try await self.keys(cache).key()
        #expect(second.keyID != first.keyID)
        #expect(try await keys.key().keyID == second.keyID)
    }

    @Test(arguments: ["", "no JSON", "{}", #"{"v":1,"private_key":"AAAA"}"#, #"{"v":1,"private_key":"*"}"#])
    func isReplacedIfItIsDamaged(text: String) async throws {
        let cache = InMemoryTokenCache()
        let keys = keys(cache)
        _ = try await cache.replace(nil, with: CacheRecord(bytes: Array(text.utf8)), for: keys.name)
        let made = try await keys.key()
        #expect(try await self.keys(cache).key().keyID == made.keyID)
    }

    @Test func isNotReplacedIfANewerVersionWroteIt() async throws {
        let cache = InMemoryTokenCache()
        let keys = keys(cache)
        let record = CacheRecord(bytes: Array(#"{"v":2}"#.utf8))
        _ = try await cache.replace(nil, with: record, for: keys.name)
        try await expectError(.cacheNewerVersion) { try await keys.key() }
        #expect(try await cache.record(for: keys.name) == record)
    }

    @Test func isNotUsedUnlessItIsStored() async throws {
        let cache = CountingCache()
        cache.state.withLock { $0.writeFailure = AuthenticationError(.cacheFull, "Full.") }
        try await expectError(.cacheFull) { try await keys(cache).key() }
    }
}
