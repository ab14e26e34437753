// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityTestSupport
import IdentityTesting
import Synchronization
import Testing

@testable import IdentityClient

@Suite struct AccountChangesTests {
    typealias Changes = AsyncStream<AccountChange>

    let provider: TestIdentityProvider
    let clock = ManualClock()
    let memory = InMemoryTokenCache()

    init() throws {
        provider = try TestIdentityProvider(clock: clock, clients: [.init(), .init(id: "other-client")])
    }

    private func app(
        _ cache: any TokenCache,
        _ person: TestIdentityProvider.Person = .alice,
        client: ClientID = "test-client",
        at provider: TestIdentityProvider? = nil
    ) throws -> PublicClientApplication {
        let provider = provider ?? self.provider
        let receiver = InMemoryRedirectReceiver()
        var configuration = ClientConfiguration(
            clientID: client,
            authority: provider.authority,
            cache: cache
        )
        configuration.cacheGroup = try CacheGroup("suite")
        configuration.transport = provider.transport
        configuration.browser = ScriptedBrowser(provider: provider, signingInAs: person, receiver: receiver)
        configuration.redirectReceiver = receiver
        configuration.clock = clock
        return try PublicClientApplication(configuration)
    }

    private func signIn(_ app: PublicClientApplication) async throws -> Account {
        try await app.acquireTokenInteractively(scopes: ["api.read"]).account
    }

    @Test(.timeLimit(.minutes(1))) func tellsOfThisProgramsOwnSignInsAndSignOuts() async throws {
        let app = try app(memory)
        var changes = try await app.accountChanges().makeAsyncIterator()
        let alice = try await signIn(app)
        #expect(await changes.next() == .added(alice))
        try await app.remove(alice)
        #expect(await changes.next() == .removed(alice))
    }

    @Test(.timeLimit(.minutes(1))) func tellsThatAPersonSignedInAgain() async throws {
        provider.settings.tellsRefreshTokenLifetime = true
        let app = try app(memory)
        let alice = try await signIn(app)
        var changes = try await app.accountChanges().makeAsyncIterator()
        clock.advance(by: .seconds(60))
        // Neither a refresh, which moves the end of the sign-in, nor another client's sign-in gives this program what a new sign-in does.
        _ = try await app.acquireTokenSilently(.init(scopes: ["api.read"], account: alice, forcesRefresh: true))
        _ = try await signIn(try self.app(memory, client: "other-client"))
        let again = try await signIn(try self.app(memory))
        let change = try #require(await changes.next())
        #expect(change.kind == .signedIn && change.account.id == again.id && change.old?.id == alice.id)
        try await app.remove(alice)
        #expect(await changes.next()?.kind == .removed)
    }

    @Test(.timeLimit(.minutes(1))) func beginsWithWhatIsThere() async throws {
        let app = try app(memory)
        let alice = try await signIn(app)
        var changes = try await app.accountChanges().makeAsyncIterator()
        try await app.remove(alice)
        #expect(await changes.next() == .removed(alice))
    }

    @Test(.timeLimit(.minutes(1)), arguments: [false, true])
    func tellsWhatAnotherProgramDoesInTheSameFiles(encrypted: Bool) async throws {
        let directory = try TemporaryDirectory()
        let secret = EncryptionKey.random()
        func cache() -> any TokenCache {
            let files = FileTokenCache(directory: "\(directory.path)/cache")
            return encrypted ? EncryptedTokenCache(files, key: secret) : files
        }
        let (first, second) = (try app(cache()), try app(cache(), .bob))
        // Only a hint arrives in time.
        let pace = CachePace(polling: .seconds(3600), sweeping: .seconds(3600))
        var changes = try await first.accountChanges(pace: pace).makeAsyncIterator()
        let bob = try await signIn(second)
        #expect(await changes.next() == .added(bob))
        let alice = try await signIn(first)
        #expect(await changes.next() == .added(alice))
        try await second.remove(alice)
        #expect(await changes.next() == .removed(alice))
        #expect(try await first.allAccounts() == [bob])
    }

    @Test(.timeLimit(.minutes(1))) func hearsOfASignInInAnotherProcess() async throws {
        let directory = try TemporaryDirectory()
        let (path, secret) = (directory.path, EncryptionKey.random())
        let app = try app(EncryptedTokenCache(FileTokenCache(directory: path), key: secret))
        try await app.environment.store.checkWritable()  // makes the directory that is watched
        let pace = CachePace(polling: .seconds(3600), sweeping: .seconds(3600))
        var changes = try await app.accountChanges(pace: pace).makeAsyncIterator()
        async let change = changes.next()
        await #expect(processExitsWith: .success) { [path = path as String, bytes = secret.bytes as [UInt8]] in
            let there = try AccountChangesTests()
            let cache = EncryptedTokenCache(FileTokenCache(directory: path), key: try EncryptionKey(bytes))
            _ = try await there.signIn(try there.app(cache, .bob))
        }
        #expect(await change?.account.username == TestIdentityProvider.Person.bob.username)
    }

    @Test(.timeLimit(.minutes(1))) func tellsTheProgramsOfAGroupOfEachOther() async throws {
        let first = try app(memory)
        let second = try app(memory, .bob, client: "other-client")
        var seenByFirst = try await first.accountChanges().makeAsyncIterator()
        var seenBySecond = try await second.accountChanges().makeAsyncIterator()
        let bob = try await signIn(second)
        #expect(await seenByFirst.next() == .added(bob))
        #expect(await seenBySecond.next() == .added(bob))
        try await first.remove(bob)
        #expect(await seenByFirst.next() == .removed(bob))
        #expect(await seenBySecond.next() == .removed(bob))
    }

    @Test(.timeLimit(.minutes(1))) func tellsNothingOfOtherProvidersAndGroups() async throws {
        let elsewhere = try TestIdentityProvider(clock: clock, issuer: "https://elsewhere.example.com")
        let app = try app(memory)
        var changes = try await app.accountChanges().makeAsyncIterator()
        _ = try await signIn(try self.app(memory, .bob, at: elsewhere))
        var configuration = try self.app(memory, .bob).configuration
        configuration.cacheGroup = try CacheGroup("other")
        _ = try await signIn(try PublicClientApplication(configuration))
        let alice = try await signIn(app)
        #expect(await changes.next() == .added(alice))
    }

    @Test(.timeLimit(.minutes(1))) func takesARefreshForNoChange() async throws {
        let silent = SilentCache(memory)
        let app = try app(silent)
        let alice = try await signIn(app)
        let pace = CachePace(polling: .milliseconds(10), sweeping: .seconds(3600))
        var changes = try await app.accountChanges(pace: pace).makeAsyncIterator()
        async let change = changes.next()
        clock.advance(by: .seconds(7200))
        let refreshed = try await app.acquireTokenSilently(scopes: ["api.read"], account: alice)
        #expect(refreshed.source == .identityProvider)
        let now = try #require(try await app.allAccounts().first)
        let claims = [now, alice].map { $0.tenantProfiles.first?.idTokenClaims }
        #expect(claims[0] != claims[1], "the refresh brought a newer ID token; otherwise this proves nothing")
        let looks = silent.listings.withLock { $0 }
        #expect(try await eventually { silent.listings.withLock { $0 } > looks + 2 })
        try await app.remove(alice)
        #expect(await change?.kind == .removed)
    }

    @Test(.timeLimit(.minutes(1))) func tellsInSumWhatChangedWhileNobodyAsked() async throws {
        let app = try app(memory)
        var changes = try await app.accountChanges().makeAsyncIterator()
        try await app.remove(try await signIn(app))
        let bob = try await signIn(try self.app(memory, .bob))
        #expect(await changes.next() == .added(bob))
    }

    @Test(.timeLimit(.minutes(1))) func looksFromTimeToTimeWhereTheCacheGivesNoHints() async throws {
        let silent = SilentCache(memory)
        let app = try app(silent)
        let pace = CachePace(polling: .milliseconds(10), sweeping: .seconds(3600))
        var changes = try await app.accountChanges(pace: pace).makeAsyncIterator()
        let other = try self.app(memory, .bob)
        async let change = changes.next()
        let bob = try await signIn(other)
        #expect(await change == .added(bob))
    }

    @Test(.timeLimit(.minutes(1))) func looksFromTimeToTimeWhereHintsAreLost() async throws {
        let silent = SilentCache(memory, givesEmptyHints: true)
        let pace = CachePace(polling: .seconds(3600), sweeping: .milliseconds(10))
        var changes = try await app(silent).accountChanges(pace: pace).makeAsyncIterator()
        let other = try app(memory, .bob)
        async let change = changes.next()
        let bob = try await signIn(other)
        #expect(await change == .added(bob))
    }

    @Test(.timeLimit(.minutes(1))) func takesNobodyForSignedOutWhileTheCacheCannotBeRead() async throws {
        let silent = SilentCache(memory)
        let app = try app(silent)
        let alice = try await signIn(app)
        let pace = CachePace(polling: .milliseconds(10), sweeping: .milliseconds(10))
        var changes = try await app.accountChanges(pace: pace).makeAsyncIterator()
        let other = try self.app(memory, .bob)
        silent.isBroken.withLock { $0 = true }
        async let change = changes.next()
        #expect(try await eventually { silent.refusals.withLock { $0 } > 2 })
        await #expect(throws: AuthenticationError.self) { _ = try await app.accountChanges() }
        let bob = try await signIn(other)
        silent.isBroken.withLock { $0 = false }
        #expect(await change == .added(bob))
        try await other.remove(alice)
        #expect(await changes.next() == .removed(alice))
    }

    @Test(.timeLimit(.minutes(1))) func endsAndFreesEverythingWithItsReader() async throws {
        let app = try app(memory)
        let changes = try await app.accountChanges()
        #expect(memory.subscriberCount == 1)
        let reader = Task { for await _ in changes {} }
        reader.cancel()
        await reader.value
        #expect(try await eventually { memory.subscriberCount == 0 })
        _ = try await app.accountChanges()
        #expect(try await eventually { memory.subscriberCount == 0 })
        for await _ in try await changesWithSomethingToTell(app) {
            #expect(memory.subscriberCount == 1)
            break
        }
        #expect(try await eventually { memory.subscriberCount == 0 })
    }

    @Test(.timeLimit(.minutes(1))) func endsWhileItsReaderWaits() async throws {
        let app = try app(memory)
        let reader = Task {
            for await _ in try await app.accountChanges() {}
            return Task.isCancelled
        }
        #expect(try await eventually { memory.subscriberCount == 1 })
        reader.cancel()
        #expect(try await reader.value)
        #expect(try await eventually { memory.subscriberCount == 0 })
    }

    private func changesWithSomethingToTell(_ app: PublicClientApplication) async throws -> Changes {
        let changes = try await app.accountChanges()
        _ = try await signIn(app)
        return changes
    }
}

/// A cache that gives no hints, or meaningless ones, and fails on demand.
private final class SilentCache: TokenCache {
    struct Unavailable: Error {}

    let isBroken = Mutex(false)
    let refusals = Mutex(0)
    let listings = Mutex(0)
    private let base: any TokenCache
    private let givesEmptyHints: Bool

    init(_ base: any TokenCache, givesEmptyHints: Bool = false) {
        self.base = base
        self.givesEmptyHints = givesEmptyHints
    }

    func record(for key: CacheKey) async throws -> CacheRecord? { try await base.record(for: key) }

    func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool {
        try await base.replace(expected, with: new, for: key)
    }

    func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        if isBroken.withLock({ $0 }) {
            refusals.withLock { $0 += 1 }
            throw Unavailable()
        }
        defer { listings.withLock { $0 += 1 } }
        return try await base.records(of: kind, in: group)
    }

    func changes(in group: CacheGroup) -> AsyncStream<CacheKey>? {
        givesEmptyHints ? AsyncStream { _ in } : nil
    }
}
