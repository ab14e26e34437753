// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityTestSupport
import IdentityTesting
import Synchronization
import Testing

@testable import IdentityClient

/// Commits whose write failed. The write may have been done all the same, several callers may retry it at once, and the
/// account may be signed out meanwhile.
@Suite(.timeLimit(.minutes(1))) struct UnsavedCommitTests {
    private let cache = InterruptedCache()
    private let store: CredentialStore
    private let id = RecordID(partition: "oidc|https://issuer.example", accountID: "https://issuer.example|subject")
    private let key: CacheKey

    init() throws {
        store = CredentialStore(cache: cache, group: try CacheGroup("group"), clientID: "client")
        key = store.key(for: id)
    }

    private struct Timeout: Error {}

    private static func credentials(_ signInID: String, _ refreshToken: String) -> AccountCredentials {
        var credentials = Fixture.credentials(refreshToken: refreshToken)
        credentials.signInID = signInID
        return credentials
    }

    /// A sign-in, as `SignIn` commits it.
    @discardableResult
    private func signIn(_ signInID: String, _ refreshToken: String) async throws -> CredentialSnapshot? {
        let write = try Fixture.signIn(Self.credentials(signInID, refreshToken))
        return try await store.commit(id, write, at: Fixture.now)
    }

    /// A refresh, as `RefreshDriver` commits it.
    @discardableResult
    private func refresh(_ sent: String, _ next: String, in store: CredentialStore) async throws -> CredentialSnapshot?
    {
        let base = try #require(try await store.snapshot(for: id)).credentials
        let sent = CachedRefreshToken(secret: sent, modifiedAt: Fixture.now)
        let grant = try Fixture.grant(#"{"access_token":"\#(next)","token_type":"Bearer","refresh_token":"\#(next)"}"#)
        return try await store.commit(id, .refresh(base, sent: sent, grant), at: Fixture.now)
    }

    private var other: CredentialStore {
        CredentialStore(cache: cache.storage, group: key.group, clientID: "client")
    }

    private var stored: AccountCredentials? {
        get async throws { try await other.snapshot(for: id)?.credentials }
    }

    /// A refresh in the meantime has spent the sign-in's refresh token.
    @Test func doesNotRepeatASignInWriteThatTookEffect() async throws {
        cache.afterNextWrite(of: .account) { throw Timeout() }
        #expect(try await signIn("1", "r1")?.record == nil)
        try await refresh("r1", "r2", in: other)
        #expect(try await store.snapshot(for: id)?.credentials.refreshToken?.secret == "r2")
        #expect(store.unsaved(id) == nil)
        #expect(try await stored?.refreshToken?.secret == "r2")
    }

    /// Writing the older one would hide the newer one.
    @Test func doesNotRepeatTheOlderOfTwoSignInWritesThatTookEffect() async throws {
        for (signInID, token) in [("1", "r1"), ("2", "r2")] {
            cache.afterNextWrite(of: .account) { throw Timeout() }
            try await signIn(signInID, token)
        }
        try await refresh("r2", "r3", in: other)
        try await store.saveUnsaved()
        let credentials = try #require(try await stored)
        #expect(credentials.signInID == "2" && credentials.refreshToken?.secret == "r3")
    }

    /// A refresh that builds on the sign-in is not lost.
    @Test func writesARefreshThatFollowsAnUnwrittenSignIn() async throws {
        cache.beforeNextWrite(of: .account) { throw Timeout() }
        try await signIn("1", "r1")
        cache.beforeNextWrite(of: .account) { [cache] in
            cache.beforeNextWrite(of: .account) { throw Timeout() }
            throw Timeout()
        }
        try await refresh("r1", "r2", in: store)
        #expect(store.unsaved(id) != nil)
        try await store.saveUnsaved()
        #expect(try await stored?.refreshToken?.secret == "r2")
    }

    /// The record was unknown before the failed write.
    @Test func respectsASignOutInAnotherProgramOfTheRecordToReplace() async throws {
        _ = try await other.update(id) { _ in Self.credentials("1", "r1") }
        cache.beforeNextWrite(of: .account) { throw Timeout() }
        try await signIn("2", "r2")
        _ = try await other.update(id) { _ in nil }
        try await store.saveUnsaved()
        #expect(store.unsaved(id) == nil)
        #expect(try await stored == nil)
    }

    /// The storage is readable but not writable: the value in memory is older than the stored one.
    @Test func prefersAReadableRecordToMemory() async throws {
        try await signIn("1", "r1")
        cache.afterNextWrite(of: .account) { throw Timeout() }
        try await refresh("r1", "r2", in: store)
        try await refresh("r2", "r3", in: other)
        cache.beforeNextWrite(of: .account) { throw Timeout() }
        let known = try #require(try await store.snapshot(for: id))
        #expect(known.credentials.refreshToken?.secret == "r3")
        guard case .failed = known.persistence else {
            Issue.record("It has to say that something was not stored.")
            return
        }
    }

    @Test(arguments: [true, false])
    func aRunningSaveDoesNotUndoASignOut(_ fails: Bool) async throws {
        cache.beforeNextWrite(of: .account) { throw Timeout() }
        try await signIn("1", "r1")
        if fails { cache.afterNextWrite(of: .account) { throw Timeout() } }
        cache.beforeNextWrite(of: .account) { [store, key] in _ = try await store.take(key) }
        #expect(try await store.snapshot(for: id) == nil)
        #expect(try await stored == nil && store.unsaved(id) == nil)
    }

    /// The write continues without the caller.
    @Test func aSaveOfACancelledCallerDoesNotUndoASignOut() async throws {
        cache.beforeNextWrite(of: .account) { throw Timeout() }
        try await signIn("1", "r1")
        let (isWriting, goesOn) = (TestGate(), TestGate())
        cache.beforeNextWrite(of: .account) {
            isWriting.open()
            try await Task { try await goesOn.wait() }.value
        }
        let call = Task { try await store.snapshot(for: id) }
        try await isWriting.wait()
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        _ = try await store.take(key)
        let isWritten = TestGate()
        cache.afterNextWrite(of: .account) { isWritten.open() }
        goesOn.open()
        try await isWritten.wait()
        try await wait { try await stored == nil }
    }

    /// Another caller wrote the commit, and the record was removed afterwards, so nothing is unsaved.
    @Test func theSecondOfTwoSavesDoesNotUndoASignOut() async throws {
        cache.beforeNextWrite(of: .account) { throw Timeout() }
        try await signIn("1", "r1")
        cache.beforeNextWrite(of: .account) { [store, key] in
            try await store.saveUnsaved()
            #expect(try await store.take(key).wasThere)
        }
        #expect(try await store.snapshot(for: id) == nil)
        #expect(try await stored == nil)
    }

    /// A refresh that began while the account was being removed.
    @Test func aSaveThatBeginsDuringASignOutDoesNotUndoIt() async throws {
        try await signIn("1", "r0")
        _ = try await store.take(key)
        cache.beforeNextWrite(of: .account) { throw Timeout() }
        try await signIn("2", "r1")
        let beside = CacheRecord(bytes: Self.credentials("0", "r").encoded())
        #expect(try await cache.storage.replace(nil, with: beside, for: key))
        cache.afterNextWrite(of: .account) { [store] in try await store.saveUnsaved() }
        #expect(try await store.take(key).wasThere)
        #expect(try await stored == nil && store.unsaved(id) == nil)
    }

    @Test(arguments: [true, false])
    func aRefreshAfterAnUnwrittenSignInDoesNotUndoASignOut(_ fails: Bool) async throws {
        cache.beforeNextWrite(of: .account) { throw Timeout() }
        try await signIn("1", "r1")
        // The first write belongs to the sign-in.
        cache.beforeNextWrite(of: .account) { [cache, store, key] in
            if fails { cache.afterNextWrite(of: .account) { throw Timeout() } }
            cache.beforeNextWrite(of: .account) { _ = try await store.take(key) }
            throw Timeout()
        }
        #expect(try await refresh("r1", "r2", in: store) == nil)
        #expect(try await stored == nil && store.unsaved(id) == nil)
    }

    /// The person signed in anew: that is another sign-in.
    @Test func aSignInAfterTheSignOutStays() async throws {
        cache.beforeNextWrite(of: .account) { throw Timeout() }
        try await signIn("1", "r1")
        cache.beforeNextWrite(of: .account) { [store, key, id] in
            _ = try await store.take(key)
            _ = try await store.update(id) { _ in Self.credentials("2", "r2") }
        }
        #expect(try await store.snapshot(for: id)?.credentials.refreshToken?.secret == "r2")
        #expect(try await stored?.signInID == "2")
    }

    @Test func aFailedSignOutKeepsTheCredentialsInMemory() async throws {
        let cache = CountingCache()
        let store = CredentialStore(cache: cache, group: key.group, clientID: "client")
        cache.state.withLock { $0.writeFailure = Timeout() }
        let fresh = Self.credentials("1", "r1")
        _ = try await store.commit(id, Fixture.signIn(fresh), at: Fixture.now)
        cache.state.withLock { $0.readFailure = Timeout() }
        await #expect(throws: AuthenticationError.self) { try await store.take(key) }
        cache.state.withLock { $0 = CountingCache.State() }
        #expect(try await store.snapshot(for: id)?.credentials == fresh)
        #expect(try await cache.storage.record(for: key) != nil)
    }

    @Test(arguments: [AuthenticationError.Code.cacheBusy, .keyringTimedOut])
    func repeatsAStuckWriteAfterAPause(code: AuthenticationError.Code) async throws {
        let cache = CountingCache()
        let pause = Duration.milliseconds(50)
        let store = CredentialStore(cache: cache, group: key.group, clientID: "client", pause: pause)
        cache.state.withLock { $0.writeFailure = AuthenticationError(code, "stuck") }
        let begin = ContinuousClock.now
        _ = try await store.commit(id, Fixture.signIn(), at: Fixture.now)
        try await wait {
            var known = store.stuck(id)
            if known == nil { known = try await store.snapshot(for: id) }
            #expect(known?.record == nil)
            return cache.state.value.writes >= 4
        }
        #expect(ContinuousClock.now - begin >= pause * 3)
        // A caller that sends the refresh token must know what is stored.
        for _ in 0..<3 { _ = try await store.snapshot(for: id) }
        #expect(cache.state.value.writes >= 7)
        cache.state.withLock { $0.writeFailure = nil }
        try await wait {
            guard store.stuck(id) == nil else { return false }
            return try await store.snapshot(for: id)?.record != nil
        }
    }

    /// A keyring that stays locked for weeks. Each refresh builds on the previous one.
    @Test func foldsManyRefreshesIntoOne() async throws {
        let cache = UnreliableCache()
        let store = CredentialStore(cache: cache, group: key.group, clientID: "client")
        _ = try await store.update(id) { _ in Self.credentials("1", "r0") }
        cache.refusedWrites = [.account]
        for index in 0..<10_000 { try await refresh("r\(index)", "r\(index + 1)", in: store) }
        cache.refusedWrites = []
        try await store.saveUnsaved()
        let reader = CredentialStore(cache: cache, group: key.group, clientID: "client")
        let stored = try #require(try await reader.snapshot(for: id)).credentials
        #expect(stored.refreshToken?.secret == "r10000" && stored.accessTokens.map(\.secret) == ["r10000"])
    }

    /// The account was signed out elsewhere, unnoticed by this process. Then the person signs in, while the storage can be
    /// neither read nor written.
    @Test func writesASignInIfTheRecordInMemoryWasAlreadyGone() async throws {
        let cache = UnreliableCache()
        let store = CredentialStore(cache: cache, group: key.group, clientID: "client")
        _ = try await store.update(id) { _ in Self.credentials("1", "r1") }
        let other = CredentialStore(cache: cache, group: key.group, clientID: "client")
        _ = try await other.take(key)
        cache.refusesReads = true
        let fresh = Self.credentials("2", "r2")
        _ = try await store.commit(id, Fixture.signIn(fresh), at: Fixture.now)
        cache.refusesReads = false
        try await store.saveUnsaved()
        #expect(try await other.snapshot(for: id)?.credentials == fresh)
    }

    /// A damaged record is told of once; when it is gone, nothing is left of that.
    @Test func forgetsTheReportOfADamagedRecordThatIsGone() async throws {
        let (damaged, store) = (CacheRecord(bytes: [1]), self.store)
        let key = CacheKey(group: store.group, kind: .account, name: "damaged")
        #expect(try await cache.storage.replace(nil, with: damaged, for: key))
        await #expect(throws: AuthenticationError.self) { try await store.allSnapshots() }
        #expect(try await store.allSnapshots().snapshots.isEmpty)
        #expect(store.state.withLock { $0.reported.keys.map(\.name) } == ["damaged"])
        #expect(try await cache.storage.replace(damaged, with: nil, for: key))
        _ = try await store.allSnapshots()
        #expect(store.state.withLock { $0.reported.isEmpty })
    }

    @Test func forgetsFinishedSignOuts() async throws {
        try await signIn("1", "r1")
        _ = try await store.take(key)
        cache.beforeNextWrite(of: .account) { throw Timeout() }
        try await signIn("2", "r2")
        _ = try await store.take(key)
        #expect(store.state.withLock { $0.signOuts.isEmpty })
    }
}
