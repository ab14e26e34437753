// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// A program's view of encrypted records that cannot be read.
@Suite struct EncryptedSignInTests {
    let provider: TestIdentityProvider
    let directory: TemporaryDirectory
    let secret = EncryptionKey.random()

    init() throws {
        provider = try TestIdentityProvider()
        directory = try TemporaryDirectory()
    }

    private var files: FileTokenCache { FileTokenCache(directory: directory.path) }

    private func app(_ cache: any TokenCache) throws -> PublicClientApplication {
        let receiver = InMemoryRedirectReceiver()
        var configuration = ClientConfiguration(
            clientID: "test-client",
            authority: provider.authority,
            cache: cache
        )
        configuration.cacheGroup = try CacheGroup("suite")
        configuration.transport = provider.transport
        configuration.browser = ScriptedBrowser(provider: provider, receiver: receiver)
        configuration.redirectReceiver = receiver
        return try PublicClientApplication(configuration)
    }

    private func accountFiles() throws -> [String] {
        try directory.names(in: "suite").filter { $0.hasPrefix("account") }
    }

    @Test(.timeLimit(.minutes(1))) func signsInAndReadsTheSignInWithTheSameKey() async throws {
        let first = try await app(EncryptedTokenCache(files, key: secret)).acquireTokenInteractively(scopes: ["a"])
        #expect(first.persistence.isPersisted)
        let second = try app(EncryptedTokenCache(files, key: secret))
        let hit = try await second.acquireTokenSilently(scopes: ["a"], account: first.account)
        #expect(hit.accessToken == first.accessToken)
        #expect(hit.source == .cache)
    }

    @Test(.timeLimit(.minutes(1))) func saysThatTheKeyIsAnotherAndTouchesNothing() async throws {
        let first = try await app(EncryptedTokenCache(files, key: secret)).acquireTokenInteractively(scopes: ["a"])
        let before = try accountFiles()
        #expect(before.count == 1)
        let stranger = try app(EncryptedTokenCache(files, key: .random()))
        await #expect(throws: AuthenticationError.self) { try await stranger.allAccounts() }
        let error = await #expect(throws: AuthenticationError.self) {
            try await stranger.acquireTokenSilently(scopes: ["a"], account: first.account)
        }
        #expect(error?.code == .cacheUndecryptable)
        let again = try await stranger.acquireTokenInteractively(scopes: ["a"])
        #expect(!again.persistence.isPersisted)
        #expect(try accountFiles() == before)
        let owner = try app(EncryptedTokenCache(files, key: secret))
        #expect(try await owner.allAccounts() == [first.account])
    }

    @Test(.timeLimit(.minutes(1))) func withoutAKeyEncryptedRecordsAreNotTakenForDamagedOnes() async throws {
        let first = try await app(EncryptedTokenCache(files, key: secret)).acquireTokenInteractively(scopes: ["a"])
        let before = try accountFiles()
        let plain = try app(files)
        for _ in 0..<2 {
            let error = await #expect(throws: AuthenticationError.self) {
                try await plain.acquireTokenSilently(scopes: ["a"], account: first.account)
            }
            #expect(error?.code == .cacheUndecryptable)
        }
        #expect(!(try await plain.acquireTokenInteractively(scopes: ["a"]).persistence.isPersisted))
        #expect(try accountFiles() == before)
    }

    @Test(.timeLimit(.minutes(1))) func setsARecordAsideThatMeansNothingButKeepsItEncrypted() async throws {
        let cache = EncryptedTokenCache(files, key: secret)
        let first = try await app(cache).acquireTokenInteractively(scopes: ["a"])
        let group = try CacheGroup("suite")
        let (key, record) = try #require(try await cache.records(of: .account, in: group).first)
        #expect(try await cache.replace(record, with: CacheRecord(bytes: Array("canary".utf8)), for: key))
        let error = await #expect(throws: AuthenticationError.self) {
            try await app(cache).acquireTokenSilently(scopes: ["a"], account: first.account)
        }
        #expect(error?.code == .cacheCorrupt)
        let aside = try #require(try accountFiles().first { $0.contains(".json.corrupt-") })
        #expect(error?.message.contains(aside) == true)
        #expect(try accountFiles() == [aside])
        let memory = EncryptedTokenCache(InMemoryTokenCache(), key: secret)
        #expect(!memory.keepsCorruptRecords)
    }
}

extension AuthenticationResult.Persistence {
    fileprivate var isPersisted: Bool {
        if case .persisted = self { true } else { false }
    }
}
