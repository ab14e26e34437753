// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// A sign-out that is canceled, fails, meets leftovers of other programs, or runs between two steps of another program.
@Suite(.timeLimit(.minutes(1)))
struct DisturbedSignOutTests {
    private var revoking: SignOutParameters {
        var parameters = SignOutParameters()
        parameters.revokesTokens = true
        return parameters
    }

    private func store(_ setup: TestSetup) throws -> AccountStore {
        try AccountStore([
            AccountType("work", configuration: try setup.application().configuration, scopes: ["api.read"])
        ])
    }

    private func isFailed(_ persistence: AuthenticationResult.Persistence) -> Bool {
        if case .failed = persistence { true } else { false }
    }

    @Test func keepsTheOnlyRefreshTokenWhereItFails() async throws {
        let cache = UnreliableCache()
        let setup = try TestSetup(cache: cache)
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3600))
        cache.refusedWrites = [.account]
        let renewed = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(isFailed(renewed.persistence))
        try await expectError(.cache) { try await application.signOut(first.account) }
        cache.refusedWrites = []
        setup.clock.advance(by: .seconds(3600))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider)
        // If the sign-out succeeds, the unwritten refresh token is revoked.
        cache.refusedWrites = [.account]
        setup.clock.advance(by: .seconds(3600))
        _ = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        cache.refusedWrites = []
        #expect(try await application.signOut(first.account, parameters: revoking).revocation.word == "succeeded")
        #expect(try await application.allAccounts().isEmpty)
        #expect(setup.provider.count(of: .revocation) == 2)
    }

    /// Canceled while the account is being removed, or afterwards: no later call could do the rest.
    @Test(arguments: [CacheKey.Kind.account, .application], [false, true])
    func doesTheRestAlthoughItIsCancelled(during kind: CacheKey.Kind, endsBrowserSession: Bool) async throws {
        let cache = InterruptedCache()
        let setup = try TestSetup(cache: cache)
        let store = try store(setup)
        try await store.acquireTokenInteractively(ofType: "work")
        let account = try #require(try await store.accounts().first)
        try await store.setUserData("blue", of: account)
        var parameters = revoking
        parameters.endsBrowserSession = endsBrowserSession
        let (start, begin) = AsyncStream.makeStream(of: Void.self)
        let task = Task { [parameters] in
            for await _ in start { break }
            return try await store.signOut(account, parameters: parameters)
        }
        cache.beforeNextWrite(of: kind) { task.cancel() }
        begin.yield()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await setup.provider.waitForRequest(.revocation)
        #expect(try await store.accounts().isEmpty)
        #expect(try await store.userData(String.self, of: account) == nil)
        #expect(setup.provider.count(of: .endSession) == 0)
    }

    /// A keyring may take as long as it likes; the account is taken out all the same.
    @Test func releasesACallerThatIsCancelledWhileTheAccountIsTakenOut() async throws {
        let cache = InterruptedCache()
        let setup = try TestSetup(cache: cache)
        let (application, first) = try await setup.signedIn()
        let (began, begin) = AsyncStream<Void>.makeStream()
        let (held, letGo) = AsyncStream<Void>.makeStream()
        cache.beforeNextWrite(of: .account) {
            begin.yield()
            for await _ in held { break }
        }
        let task = Task { try await application.remove(first.account) }
        for await _ in began { break }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try await setup.storedCredentials(of: application).count == 1)
        letGo.yield()
        try await wait { try await setup.storedCredentials(of: application).isEmpty }
    }

    /// A keyring may answer too late, and have removed it all the same.
    @Test func takesTheTokensBackAlthoughNobodySaidThatTheAccountIsGone() async throws {
        let cache = InterruptedCache()
        let setup = try TestSetup(cache: cache)
        let (application, first) = try await setup.signedIn()
        cache.beforeNextWrite(of: .account) {
            for (key, record) in try await setup.storedCredentials(of: application) {
                #expect(try await cache.storage.replace(record, with: nil, for: key))
            }
            throw AuthenticationError(.keyringTimedOut, "The keyring does not answer.")
        }
        let result = try await application.signOut(first.account, parameters: revoking)
        #expect(result.wasSignedIn && result.revocation.word == "succeeded")
        #expect(setup.provider.count(of: .revocation) == 1)
    }

    @Test func isNotKeptByARecordThatCannotBeDecrypted() async throws {
        let (files, group) = (InMemoryTokenCache(), try CacheGroup("com.example.suite"))
        let setup = try TestSetup(cache: EncryptedTokenCache(files, key: .random()))
        let (application, first) = try await setup.signedIn { $0.cacheGroup = group }
        let foreign = CacheKey(group: group, kind: .account, name: "foreign")
        #expect(try await files.replace(nil, with: CacheRecord(bytes: Array("{}".utf8)), for: foreign))
        for _ in 0..<2 {
            try await expectError(.cacheUndecryptable) {
                try await application.signOut(first.account, parameters: revoking)
            }
        }
        #expect(try await files.records(of: .account, in: group).map(\.key) == [foreign])
        #expect(setup.provider.count(of: .revocation) == 1)
        try await expectError(.noTokensFound) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
    }

    /// The damaged record is reported, and the account is still signed out of all programs.
    @Test func isNotKeptByDamagedRecords() async throws {
        let clients = [TestIdentityProvider.Client(), TestIdentityProvider.Client(id: "second-client")]
        let (cache, group) = (InMemoryTokenCache(), try CacheGroup("com.example.suite"))
        let setup = try TestSetup(.entra, cache: cache, clients: clients)
        let (application, first) = try await setup.signedIn { $0.cacheGroup = group }
        _ = try await setup.signedIn {
            $0.cacheGroup = group
            $0.clientID = "second-client"
        }
        for name in ["one", "two", "three"] {
            let key = CacheKey(group: group, kind: .account, name: name)
            #expect(try await cache.replace(nil, with: CacheRecord(bytes: [1]), for: key))
        }
        #expect(try await cache.records(of: .account, in: group).count == 5)
        try await expectError(.cacheCorrupt) { try await application.remove(first.account) }
        #expect(Set(try await cache.records(of: .account, in: group).keys.map(\.name)) == ["one", "two", "three"])
        #expect(try await application.allAccounts().isEmpty)
    }

    /// The person signs in again, which cannot be written; then the account is signed out elsewhere.
    @Test func isNotUndoneByASignInThatIsSavedLater() async throws {
        let storage = InMemoryTokenCache()
        let cache = UnreliableCache(storage)
        let setup = try TestSetup(cache: cache)
        let (application, _) = try await setup.signedIn()
        cache.refusedWrites = [.account]
        let again = try await application.acquireTokenInteractively(scopes: ["api.read"])
        #expect(isFailed(again.persistence))
        let other = try setup.application { $0.cache = storage }
        #expect(try await other.signOut(again.account).wasSignedIn)
        cache.refusedWrites = []
        try await application.finishPendingWork(within: .seconds(15))
        #expect(try await other.allAccounts().isEmpty)
        try await expectError(.noTokensFound) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: again.account)
        }
        // A later sign-in is kept.
        let back = try await application.acquireTokenInteractively(scopes: ["api.read"])
        #expect(try await other.allAccounts() == [back.account])
    }

    /// The first of two sign-ins could not be written. The second was written, and is signed out before it ends.
    @Test func isToldToASignInThatItOvertakes() async throws {
        let cache = InterruptedCache()
        let setup = try TestSetup(cache: cache)
        cache.beforeNextWrite(of: .account) { throw AuthenticationError(.keyringTimedOut, "It does not answer.") }
        let (application, first) = try await setup.signedIn()
        #expect(isFailed(first.persistence))
        cache.afterNextWrite(of: .account) { try await application.remove(first.account) }
        try await expectError(.accountRemoved) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(try await application.allAccounts().isEmpty)
    }

    @Test(arguments: [true, false])
    func isSeenByWhoCouldNotWrite(_ isRefresh: Bool) async throws {
        let storage = InMemoryTokenCache()
        let cache = UnreliableCache(storage)
        let setup = try TestSetup(cache: cache)
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3600))
        cache.refusedWrites = [.account]
        let next =
            isRefresh
            ? try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            : try await application.acquireTokenInteractively(scopes: ["api.read"])
        #expect(isFailed(next.persistence))
        #expect(try await application.allAccounts().count == 1)
        try await setup.application { $0.cache = storage }.remove(first.account)
        #expect(try await application.allAccounts().isEmpty)
        #expect(try await application.account(withID: first.account.id) == nil)
    }

    @Test(arguments: [false, true])
    func leavesNoUserDataThatIsJustWritten(isUpdate: Bool) async throws {
        let cache = InterruptedCache()
        let setup = try TestSetup(cache: cache)
        let store = try store(setup)
        try await store.acquireTokenInteractively(ofType: "work")
        let account = try #require(try await store.accounts().first)
        let other = try setup.application { $0.cache = cache.storage }
        cache.beforeNextWrite(of: .application) { try await other.remove(account.account) }
        try await expectError(.noTokensFound) {
            if isUpdate {
                try await store.updateUserData(String.self, of: account) { $0 = "blue" }
            } else {
                try await store.setUserData("blue", of: account)
            }
        }
        try await store.acquireTokenInteractively(ofType: "work")
        #expect(try await store.userData(String.self, of: account) == nil)
    }
}
