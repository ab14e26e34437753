// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import Testing

@testable import IdentityKeyring

/// Encrypted files with their key outside the keyring, on a machine that has none.
@Suite struct KeyFileStoreTests {
    private let directory = FileManager.default.temporaryDirectory.path + "/identity-key-file-\(UUID().uuidString)"
    private let record = CacheRecord("secret-canary")

    private func cache(_ policy: LocationPolicy) -> DesktopTokenCache {
        DesktopTokenCache(policy: policy, directory: directory + "/state", keyring: InMemoryTokenCache()) {
            throw AuthenticationError(.keyringNoService, "There is no keyring.")
        }
    }

    private func newKey(_ name: String = "key") async throws -> KeyFile {
        let file = try KeyFile(path: "\(directory)/keys/\(name)")
        try await file.create()
        return file
    }

    /// The contents of all files of the store.
    private func files() throws -> [String: Data] {
        let root = directory + "/state"
        let names = try FileManager.default.subpathsOfDirectory(atPath: root)
        let contents = names.compactMap { name in
            FileManager.default.contents(atPath: "\(root)/\(name)").map { (name, $0) }
        }
        return Dictionary(uniqueKeysWithValues: contents)
    }

    private func hasClearText() throws -> Bool {
        try files().values.contains { String(decoding: $0, as: UTF8.self).contains("secret-canary") }
    }

    private func code(_ work: () async throws -> some Any) async -> AuthenticationError.Code? {
        await #expect(throws: AuthenticationError.self) { _ = try await work() }?.code
    }

    /// A home that was moved, or restored elsewhere.
    @Test(.timeLimit(.minutes(1)), arguments: [true, false])
    func findsTokensWhoseKeyHasAnotherPlaceNow(_ isTheSame: Bool) async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let old = TokenLocation.encryptedFile(key: try await newKey())
        let key = try randomKey()
        #expect(try await cache(.require(old)).replace(nil, with: record, for: key))
        try FileManager.default.moveItem(atPath: directory + "/keys", toPath: directory + "/moved")
        let file = isTheSame ? try KeyFile(path: directory + "/moved/key") : try await newKey("other")
        let new = TokenLocation.encryptedFile(key: file)
        let before = try files()
        #expect(await code { try await cache(.require(new)).record(for: key) } == .cache)
        guard isTheSame else {
            #expect(await code { try await cache(.require(new)).move(to: new, in: key.group) } == .cacheUndecryptable)
            let after = try files()
            #expect(before.allSatisfy { after[$0.key] == $0.value || !$0.key.contains("/account-") })
            return
        }
        try await cache(.require(new)).move(to: new, in: key.group)
        #expect(try await cache(.require(new)).record(for: key) == record)
        #expect(try !hasClearText())
    }

    @Test(.timeLimit(.minutes(1))) func remembersThePlaceOfTheKey() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let (store, key) = (TokenLocation.encryptedFile(key: try await newKey()), try randomKey())
        #expect(try await cache(.require(store)).replace(nil, with: record, for: key))
        #expect(try !hasClearText())
        let later = cache(.standard.acceptingAnyKeyFile())
        #expect(try await later.record(for: key) == record)
        #expect(try await later.openedLocation(for: key.group).location == store)
        #expect(try await cache(.standard.accepting(store)).record(for: key) == record)
        let others = [LocationPolicy.standard, .require(.encryptedFile(key: try await newKey("other")))]
        for policy in others {
            #expect(await code { _ = try await cache(policy).record(for: key) } == .cache)
        }
    }

    @Test(.timeLimit(.minutes(1))) func isChosenForWantOfAKeyring() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let (store, key) = (TokenLocation.encryptedFile(key: try await newKey()), try randomKey())
        let cache = cache(.prefer(.encryptedFile, else: store, .file))
        #expect(try await cache.replace(nil, with: record, for: key))
        #expect(try await cache.openedLocation(for: key.group).location == store)
        #expect(try !hasClearText())
    }

    @Test(.timeLimit(.minutes(1))) func losesNothingWithALostKey() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let (file, key, other) = (try await newKey(), try randomKey(), try randomKey())
        let policy = LocationPolicy.require(.encryptedFile(key: file))
        #expect(try await cache(policy).replace(nil, with: record, for: key))
        let before = try files()
        let path = "\(directory)/keys/key"
        try FileManager.default.moveItem(atPath: path, toPath: path + ".away")
        let calls: [(DesktopTokenCache) async throws -> Void] = [
            { _ = try await $0.record(for: key) }, { _ = try await $0.records(of: .account, in: key.group) },
            { _ = try await $0.replace(nil, with: CacheRecord("new"), for: other) },
            { try await $0.checkWritable(in: key.group) },
            { try await $0.checkReadable(.encryptedFile(key: file), in: key.group) },
        ]
        for call in calls { #expect(await code { try await call(cache(policy)) } == .cacheKeyUnavailable) }

        try await file.create()
        for call in calls { #expect(await code { try await call(cache(policy)) } == .cacheUndecryptable) }
        let moving = cache(policy.accepting(.file))
        #expect(await code { try await moving.move(to: .file, in: key.group) } == .cacheUndecryptable)

        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.moveItem(atPath: path + ".away", toPath: path)
        #expect(try await cache(policy).record(for: key) == record)
        let after = try files()
        for (name, content) in before where name.hasPrefix(".encrypted-") { #expect(after[name] == content, "\(name)") }
    }

    @Test(.timeLimit(.minutes(1))) func movesFromKeyToKey() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let (one, two, key) = (try await newKey("one"), try await newKey("two"), try randomKey())
        let policy = LocationPolicy.require(.encryptedFile(key: one)).accepting(.file).acceptingAnyKeyFile()
        let (cache, running) = (cache(policy), cache(policy))
        #expect(try await cache.replace(nil, with: record, for: key))
        #expect(try await running.record(for: key) == record)
        let stores = [TokenLocation.encryptedFile(key: two), .file, .encryptedFile(key: one), .encryptedFile(key: two)]
        for store in stores {
            try await cache.move(to: store, in: key.group)
            #expect(try await running.openedLocation(for: key.group).location == store)
            #expect(try await running.record(for: key) == record)
            #expect(try hasClearText() == (store == .file))
            #expect(try files().keys.filter { $0.contains("/account-") }.count == 1)
        }
        try FileManager.default.removeItem(atPath: "\(directory)/keys/one")
        #expect(try await self.cache(policy).record(for: key) == record)
    }

    @Test(.timeLimit(.minutes(1))) func givesUpTokensWhoseKeyIsLost() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let (file, key) = (try await newKey(), try randomKey())
        let store = TokenLocation.encryptedFile(key: file)
        #expect(try await cache(.require(store)).replace(nil, with: record, for: key))
        try FileManager.default.removeItem(atPath: "\(directory)/keys/key")
        let discarded = try await cache(.standard.acceptingAnyKeyFile()).discard(key.group)
        #expect(discarded.store == store && discarded.isRemoved)
        #expect(try !files().keys.contains { $0.contains("/account-") })
        try await file.create()
        #expect(try await cache(.require(store)).record(for: key) == nil)
    }

    /// Another program of the group has lost the marker, or removed it.
    @Test(.timeLimit(.minutes(1))) func findsTheFilesOfAListedKeyWithoutAMarker() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let (store, key) = (TokenLocation.encryptedFile(key: try await newKey()), try randomKey())
        #expect(try await cache(.require(store)).replace(nil, with: record, for: key))
        try FileManager.default.removeItem(atPath: "\(directory)/state/suite/store-marker.json")
        #expect(try await cache(.require(.file).accepting(store)).record(for: key) == record)
    }

    @Test(arguments: ["encrypted:tpm=1", "encrypted:", "encrypted:key-file=relative", "encrypted:credential=a/b"])
    func knowsNoStoreWithAKeyElsewhere(name: String) {
        #expect(TokenLocation(named: name) == nil)
    }
}
