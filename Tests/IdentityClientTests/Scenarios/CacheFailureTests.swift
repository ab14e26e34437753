// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Logging
import Testing

/// A failing cache does not count as a signed-out person.
@Suite(.timeLimit(.minutes(1)))
struct CacheFailureTests {
    @Test func tellsThatTheCacheCannotBeRead() async throws {
        let cache = UnreliableCache()
        let setup = try TestSetup(cache: cache)
        let (application, first) = try await setup.signedIn()
        cache.refusesReads = true
        let requests = setup.transport.count
        try await expectError(.cache) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        try await expectError(.cache) { try await application.allAccounts() }
        try await expectError(.cache) { try await application.remove(first.account) }
        #expect(setup.transport.count == requests)
        cache.refusesReads = false
        let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(hit.source == .cache)
    }

    /// A program that reads no `persistence` is told all the same: by its log, and before it ends.
    @Test func tellsTwiceThatASignInIsNotStored() async throws {
        let cache = UnreliableCache()
        cache.refusedWrites = [.account]
        let warnings = Warnings()
        let setup = try TestSetup(cache: cache)
        let (application, first) = try await setup.signedIn { $0.logger = Logger(label: "test") { _ in warnings } }
        #expect(warnings.messages.value.filter { $0.hasPrefix("The sign-in is not stored yet (cache") }.count == 1)
        let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(hit.accessToken == first.accessToken)
        let error = await #expect(throws: AuthenticationError.self) {
            try await application.finishPendingWork(within: .milliseconds(20))
        }
        #expect(error?.family == .cache)
    }

    @Test func keepsASignInInMemoryUntilTheCacheRecovers() async throws {
        let cache = UnreliableCache()
        cache.refusedWrites = [.account, .lease, .provider, .application]
        let setup = try TestSetup(cache: cache)
        let (application, first) = try await setup.signedIn()
        guard case .failed(let error) = first.persistence else {
            Issue.record("The result has to say that it was not stored.")
            return
        }
        #expect(AuthenticationError.Code.cache ~= error.code)
        for _ in 0..<2 {
            let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            #expect(hit.source == .cache && hit.accessToken == first.accessToken)
            guard case .failed(let same) = hit.persistence else {
                Issue.record("What is in memory only is not in the cache.")
                return
            }
            #expect(same.code == error.code)
        }
        #expect(try await application.allAccounts() == [first.account])
        #expect(try await setup.application().allAccounts().isEmpty)

        cache.refusedWrites = []
        let saved = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        guard case .persisted = saved.persistence else {
            Issue.record("It is stored now.")
            return
        }
        let other = try setup.application()
        #expect(try await other.allAccounts() == [first.account])
        let shared = try await other.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(shared.accessToken == first.accessToken)
    }

    /// A lock held by a stopped process, or a keyring that does not answer, leads to an error within seconds.
    @Test(arguments: [AuthenticationError.Code.cacheBusy, .keyringTimedOut])
    func waitsOnceForAStuckWriteAndNotWithEveryCall(code: AuthenticationError.Code) async throws {
        let cache = UnreliableCache()
        cache.refusedWrites = [.account]
        cache.writeFailure = AuthenticationError(code, "It takes seconds to say so.")
        let setup = try TestSetup(cache: cache)
        let (application, first) = try await setup.signedIn()
        let before = cache.refusalCount
        try await withThrowingTaskGroup(of: AuthenticationResult.self) { calls in
            for _ in 0..<10 {
                calls.addTask {
                    try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
                }
            }
            for try await hit in calls {
                guard case .failed(let error) = hit.persistence else {
                    Issue.record("The result has to say that it was not stored.")
                    return
                }
                #expect(hit.accessToken == first.accessToken && error.code == code)
            }
        }
        #expect(try await application.account(withID: first.account.id) == first.account)
        #expect(cache.refusalCount <= before + 1)
        // A program that ends now waits as long as necessary.
        cache.refusedWrites = []
        try await application.finishPendingWork(within: .seconds(15))
        #expect(try await setup.application().allAccounts() == [first.account])
    }

    @Test(arguments: [true, false])
    func keepsARefreshInMemoryUntilTheCacheRecovers(_ isSignInStored: Bool) async throws {
        let cache = UnreliableCache()
        let setup = try TestSetup(cache: cache)
        if !isSignInStored { cache.refusedWrites = [.account] }
        let (application, first) = try await setup.signedIn()
        cache.refusedWrites = [.account]
        for _ in 0..<3 {
            setup.clock.advance(by: .seconds(3600))
            let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            #expect(next.source == .identityProvider)
            guard case .failed = next.persistence else {
                Issue.record("The result has to say that it was not stored.")
                return
            }
        }
        cache.refusedWrites = []
        try await application.finishPendingWork(within: .seconds(15))
        let other = try setup.application()
        #expect(try await other.allAccounts().map(\.id) == [first.account.id])
        setup.clock.advance(by: .seconds(3600))
        let next = try await other.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider, "The rotated refresh token was saved.")
    }

    @Test func savesWithTheRefreshThatFindsTheCacheRecovered() async throws {
        let cache = UnreliableCache()
        cache.refusedWrites = [.account]
        let setup = try TestSetup(cache: cache)
        let (application, first) = try await setup.signedIn()
        let (task, gate) = try await setup.heldRefresh(by: application, for: first.account)
        cache.refusedWrites = []
        gate.open()
        let next = try await task.value
        guard case .persisted = next.persistence else {
            Issue.record("It has to be stored now.")
            return
        }
        let other = try setup.application()
        let hit = try await other.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(hit.source == .cache && hit.accessToken == next.accessToken)
    }

    /// A refresh waits for the storage while the person signs in again; neither can be written.
    @Test func keepsTheSignInThatFailsToBeWrittenBeforeAnOlderRefreshDoes() async throws {
        let cache = InterruptedCache()
        let setup = try TestSetup(cache: cache)
        let (application, first) = try await setup.signedIn()
        let failure = AuthenticationError(.keyringTimedOut, "The keyring does not answer.")
        let (task, gate) = try await setup.heldRefresh(by: application, for: first.account)
        let again = Shared<AuthenticationResult?>(nil)
        cache.beforeNextWrite(of: .account) {
            cache.beforeNextWrite(of: .account) { throw failure }
            let result = try await application.acquireTokenInteractively(scopes: ["api.read"])
            again.withLock { $0 = result }
            throw failure
        }
        gate.open()
        let refreshed = try await task.value
        let signIn = try #require(again.value)
        guard case .failed = signIn.persistence else {
            Issue.record("The result has to say that it was not stored.")
            return
        }
        #expect(refreshed.accessToken == signIn.accessToken)
        for application in [application, try setup.application { $0.cache = cache.storage }] {
            let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            #expect(hit.source == .cache && hit.accessToken == signIn.accessToken)
        }
    }

    /// The refresh was never written, and ends with its sign-in.
    @Test func keepsASignInThatComesAfterASignOutElsewhere() async throws {
        let storage = InMemoryTokenCache()
        let cache = UnreliableCache(storage)
        let setup = try TestSetup(cache: cache)
        let (application, first) = try await setup.signedIn()
        let other = try setup.application { $0.cache = storage }
        cache.refusedWrites = [.account]
        setup.clock.advance(by: .seconds(3600))
        _ = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        try await other.remove(first.account)
        let again = try await application.acquireTokenInteractively(scopes: ["api.read"])
        #expect(try await application.allAccounts() == [again.account])
        cache.refusedWrites = []
        let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: again.account)
        #expect(hit.source == .cache && hit.accessToken == again.accessToken)
        #expect(try await other.allAccounts() == [again.account])
    }

    @Test func forgetsAnUnsavedSignInThatIsRemoved() async throws {
        let cache = UnreliableCache()
        cache.refusedWrites = [.account]
        let setup = try TestSetup(cache: cache)
        let (application, first) = try await setup.signedIn()
        try await application.remove(first.account)
        cache.refusedWrites = []
        try await application.finishPendingWork(within: .seconds(15))
        #expect(try await application.allAccounts().isEmpty)
        #expect(try await setup.storedCredentials(of: application).isEmpty)
    }

    @Test func staysSignedInAcrossProcessesOnOneDirectory() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/cache"
        let setup = try TestSetup(.entra, cache: FileTokenCache(directory: path))
        let (_, first) = try await setup.signedIn()
        for _ in 0..<3 {
            let application = try setup.application { $0.cache = FileTokenCache(directory: path) }
            #expect(try await application.allAccounts().map(\.id) == [first.account.id])
            let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            #expect(hit.source == .cache)
            setup.clock.advance(by: .seconds(3600))
            let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            #expect(next.source == .identityProvider)
        }
        #expect(setup.provider.count(of: .token) == 4)
    }
}

/// Keeps the warnings that are logged.
private struct Warnings: LogHandler {
    var logLevel = Logger.Level.warning
    var metadata: Logger.Metadata = [:]
    let messages = Shared<[String]>([])

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        messages.withLock { $0.append("\(event.message)") }
    }
}
