// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityTestSupport
import Testing

@testable import IdentityClient

@Suite(.timeLimit(.minutes(1))) struct CredentialStoreTests {
    static let now = Fixture.now
    private let cache = CountingCache()
    private let group: CacheGroup
    private let store: CredentialStore
    private let id = RecordID(partition: "oidc|https://issuer.example", accountID: "https://issuer.example|subject")

    init() throws {
        group = try CacheGroup("group")
        store = CredentialStore(cache: cache, group: group, clientID: "client")
    }

    private func put(_ credentials: AccountCredentials) async throws {
        _ = try await store.update(id) { _ in credentials }
    }

    @Test func aHitCostsOneLookupAndNoDecoding() async throws {
        try await put(Fixture.credentials())
        let fresh = CredentialStore(cache: cache, group: group, clientID: "client")
        let first = try #require(try await fresh.snapshot(for: id))
        let before = cache.state.value
        for _ in 0..<10 { #expect(try await fresh.snapshot(for: id) === first) }
        let after = cache.state.value
        #expect(after.reads == before.reads + 10 && after.writes == before.writes && after.sweeps == before.sweeps)
    }

    @Test func decodesWhenAnotherProcessWrote() async throws {
        try await put(Fixture.credentials())
        let first = try #require(try await store.snapshot(for: id))
        let other = CredentialStore(cache: cache, group: group, clientID: "client")
        _ = try await other.update(id) { _ in Fixture.credentials(refreshToken: "rotated") }
        let second = try #require(try await store.snapshot(for: id))
        #expect(second !== first && second.credentials.refreshToken?.secret == "rotated")
    }

    /// The record in memory is a guess that a write confirms, and nothing is written here.
    @Test func looksAtTheCacheBeforeItChangesNothing() async throws {
        try await put(Fixture.credentials())
        let other = CredentialStore(cache: cache, group: group, clientID: "client")
        _ = try await other.update(id) { _ in Fixture.credentials(refreshToken: "rotated") }
        let stored = try await store.update(id, wasJustRead: true) { $0 }
        #expect(stored?.credentials.refreshToken?.secret == "rotated")
    }

    @Test func anotherClientsRecordIsAnother() async throws {
        try await put(Fixture.credentials())
        #expect(try await CredentialStore(cache: cache, group: group, clientID: "other").snapshot(for: id) == nil)
        #expect(try await store.snapshot(for: RecordID(partition: "oidc|x", accountID: id.accountID)) == nil)
    }

    private struct Weak: Sendable {
        weak let snapshot: CredentialSnapshot?
    }

    @Test func keepsABoundedAmountInMemory() async throws {
        let secret = String(repeating: "s", count: 100_000)
        var snapshots: [Weak] = []
        for number in 0..<200 {
            let id = RecordID(partition: "oidc|x", accountID: "\(number)")
            let stored = try await store.update(id) { _ in Fixture.credentials(refreshToken: secret) }
            snapshots.append(Weak(snapshot: stored))
        }
        let alive = snapshots.filter { $0.snapshot != nil }.count
        #expect((15...42).contains(alive))
        #expect(snapshots[199].snapshot != nil)
    }

    @Test func forgetsWhatWasRemoved() async throws {
        try await put(Fixture.credentials())
        let here = Weak(snapshot: try await store.snapshot(for: id))
        #expect(try await store.take(store.key(for: id)).wasThere)
        #expect(here.snapshot == nil)
        #expect(try await !store.take(store.key(for: id)).wasThere)

        try await put(Fixture.credentials())
        let elsewhere = Weak(snapshot: try await store.snapshot(for: id))
        let key = store.key(for: id)
        #expect(try await cache.storage.replace(cache.storage.record(for: key), with: nil, for: key))
        #expect(try await store.snapshot(for: id) == nil)
        #expect(elsewhere.snapshot == nil)
    }

    @Test func setsADamagedRecordAsideAndReportsIt() async throws {
        let cache = KeepingCache()
        let store = CredentialStore(cache: cache, group: group, clientID: "client")
        let damaged = CacheRecord(bytes: Array("{\"secret\":".utf8))
        #expect(try await cache.replace(nil, with: damaged, for: store.key(for: id)))
        let error = await #expect(throws: AuthenticationError.self) { try await store.snapshot(for: id) }
        #expect(error?.code == .cacheCorrupt && error?.message.contains("elsewhere") == true)
        #expect(cache.kept.value == [damaged])
        #expect(try await store.snapshot(for: id) == nil)
    }

    /// If a damaged record cannot be set aside, a sign-in replaces it, and the other accounts are still listed.
    @Test func aDamagedRecordDoesNotAffectOtherAccounts() async throws {
        try await put(Fixture.credentials())
        let broken = RecordID(partition: "oidc|x", accountID: "broken")
        #expect(try await cache.replace(nil, with: CacheRecord(bytes: [1]), for: store.key(for: broken)))
        let error = await #expect(throws: AuthenticationError.self) { try await store.allSnapshots() }
        #expect(error?.code == .cacheCorrupt)
        #expect(try await store.allSnapshots().snapshots.keys.map(\.name) == [store.key(for: id).name])
        #expect(try await store.snapshot(for: id) != nil)
        await #expect(throws: AuthenticationError.self) { try await store.update(broken) { $0 } }
        let stored = try await store.commit(broken, Fixture.signIn(), at: Self.now)
        let isPersisted = if case .persisted? = stored?.persistence { true } else { false }
        #expect(isPersisted)
        #expect(try await store.allSnapshots().snapshots.count == 2)
    }

    private func isFailed(_ persistence: AuthenticationResult.Persistence?, _ code: AuthenticationError.Code) -> Bool {
        if case .failed(let error) = persistence { error.code == code } else { false }
    }

    @Test func aTokenThatCannotBeWrittenServesOnAndIsWrittenLater() async throws {
        try await put(Fixture.credentials())
        let grant = try Fixture.grant(#"{"access_token":"a","token_type":"Bearer","refresh_token":"r1"}"#)
        cache.state.withLock { $0.writeFailure = AuthenticationError(.cacheFull, "full") }
        let next = Fixture.credentials().applying(grant, at: Self.now)
        let sent = CachedRefreshToken(secret: "refresh", modifiedAt: Self.now)
        let stored = try await store.commit(id, .refresh(Fixture.credentials(), sent: sent, grant), at: Self.now)
        #expect(stored?.credentials == next && stored?.record == nil)
        for _ in 0..<2 { #expect(try await store.snapshot(for: id)?.credentials == next) }
        #expect(isFailed(stored?.persistence, .cacheFull))
        #expect(isFailed(try await store.snapshot(for: id)?.persistence, .cacheFull))
        #expect(try await store.allSnapshots().snapshots.values.map(\.credentials) == [next])
        await #expect(throws: AuthenticationError.self) { try await store.saveUnsaved() }

        cache.state.withLock { $0.writeFailure = nil }
        #expect(try await store.snapshot(for: id)?.credentials == next)
        let other = CredentialStore(cache: cache, group: group, clientID: "client")
        #expect(try await other.snapshot(for: id)?.credentials == next)
    }

    /// A second rotation must not be lost because the first was never written.
    @Test func laterRotationsBuildOnWhatCouldNotBeWritten() async throws {
        let start = Fixture.credentials(refreshToken: "r0")
        try await put(start)
        cache.state.withLock { $0.writeFailure = Trouble() }
        var current = start
        for (sent, next) in [("r0", "r1"), ("r1", "r2"), ("r2", "r3")] {
            if next == "r3" { cache.state.withLock { $0.writeFailure = nil } }
            let grant = try Fixture.grant(
                #"{"access_token":"a-\#(next)","token_type":"Bearer","refresh_token":"\#(next)"}"#
            )
            let sent = CachedRefreshToken(secret: sent, modifiedAt: Self.now)
            _ = try await store.commit(id, .refresh(current, sent: sent, grant), at: Self.now)
            current = current.applying(grant, at: Self.now)
        }
        let other = CredentialStore(cache: cache, group: group, clientID: "client")
        let stored = try #require(try await other.snapshot(for: id)?.credentials)
        #expect(stored.refreshToken?.secret == "r3")
        #expect(stored.accessTokens.map(\.secret) == ["a-r3"])
    }

    @Test func anAccountThatWasRemovedDoesNotComeBack() async throws {
        cache.state.withLock { $0.writeFailure = Trouble() }
        _ = try await store.commit(id, Fixture.signIn(), at: Self.now)
        cache.state.withLock { $0.writeFailure = nil }
        _ = try await store.take(store.key(for: id))
        try await store.saveUnsaved()
        #expect(try await store.snapshot(for: id) == nil)
        #expect(cache.storage.recordCount == 0)
    }

    @Test func savesBeforeTheProgramEnds() async throws {
        cache.state.withLock { $0.writeFailure = Trouble() }
        _ = try await store.commit(id, Fixture.signIn(), at: Self.now)
        cache.state.withLock { $0.writeFailure = nil }
        try await store.saveUnsaved()
        #expect(cache.storage.recordCount == 1)
    }

    @Test func oneThatCannotBeSavedDoesNotKeepTheOthers() async throws {
        let ids = (0..<16).map { RecordID(partition: "oidc|x", accountID: "person \($0)") }
        cache.state.withLock { $0.writeFailure = Trouble() }
        for id in ids { _ = try await store.commit(id, Fixture.signIn(), at: Self.now) }
        cache.state.withLock { $0.writeFailure = nil }
        let newer = CacheRecord(bytes: Array(#"{"v":2,"incarnation":{"id":"x"},"AccessToken":{}}"#.utf8))
        for id in ids.prefix(8) {
            #expect(try await cache.storage.replace(nil, with: newer, for: store.key(for: id)))
        }
        let error = await #expect(throws: AuthenticationError.self) { try await store.saveUnsaved() }
        #expect(error?.code == .cacheNewerVersion)
        for id in ids.suffix(8) { #expect(try await cache.storage.record(for: store.key(for: id)) != nil) }
    }

    /// The record belongs to a newer program, which is still signed in with it.
    @Test func leavesARecordOfANewerVersionAlone() async throws {
        let cache = KeepingCache()
        let store = CredentialStore(cache: cache, group: group, clientID: "client")
        let newer = CacheRecord(bytes: Array(#"{"v":2,"incarnation":{"id":"x"},"AccessToken":{}}"#.utf8))
        let other = RecordID(partition: "oidc|x", accountID: "newer")
        _ = try await store.update(id) { _ in Fixture.credentials() }
        #expect(try await cache.replace(nil, with: newer, for: store.key(for: other)))
        let errors = [
            await #expect(throws: AuthenticationError.self) { try await store.snapshot(for: other) },
            await #expect(throws: AuthenticationError.self) { try await store.update(other) { $0 } },
            await #expect(throws: AuthenticationError.self) { try await store.allSnapshots() },
        ]
        #expect(errors.map { $0?.code } == Array(repeating: .cacheNewerVersion, count: 3))
        let stored = try await store.commit(other, Fixture.signIn(), at: Self.now)
        #expect(isFailed(stored?.persistence, .cacheNewerVersion))
        #expect(cache.kept.value.isEmpty)
        #expect(try await cache.record(for: store.key(for: other)) == newer)
        // The damaged record is reported once; the other accounts are listed.
        #expect(try await store.allSnapshots().snapshots[store.key(for: id)] != nil)
        // An explicit sign-out removes it.
        #expect(try await store.take(store.key(for: other)).wasThere)
    }

    @Test func nobodysChangeIsLostUnderContention() async throws {
        try await put(Fixture.credentials())
        let stores = (0..<4).map { _ in CredentialStore(cache: cache, group: group, clientID: "client") }
        await withTaskGroup(of: Void.self) { tasks in
            for number in 0..<40 {
                tasks.addTask { [id] in
                    _ = try? await stores[number % 4].update(id) { current in  // counted below
                        var current = current ?? Fixture.credentials()
                        current.accessTokens.append(Fixture.accessToken("\(number)", scopes: ["s\(number)"]))
                        return current
                    }
                }
            }
        }
        #expect(try await store.snapshot(for: id)?.credentials.accessTokens.count == 40)
    }

    @Test func givesUpOnACacheThatNeverAccepts() async throws {
        cache.state.withLock { $0.refusesWrites = true }
        let error = await #expect(throws: AuthenticationError.self) {
            try await store.update(id) { _ in Fixture.credentials() }
        }
        #expect(error?.code == .cacheBusy)
        let stored = try await store.commit(id, Fixture.signIn(), at: Self.now)
        #expect(isFailed(stored?.persistence, .cacheBusy))
        let key = store.key(for: id)
        #expect(try await cache.storage.replace(nil, with: CacheRecord(bytes: [1]), for: key))
        let removal = await #expect(throws: AuthenticationError.self) { try await store.take(key) }
        #expect(removal?.code == .cacheBusy)
    }

    @Test(
        arguments: [
            (Trouble(), .cache), (AuthenticationError(.cachePermissions, ""), .cachePermissions),
            (AuthenticationError(.cache, ""), .cache),
            (CancellationError(), .cache),
            (AuthenticationError(.network, ""), .cache), (AuthenticationError(.interactionRequired, ""), .cache),
        ] as [(any Error, AuthenticationError.Code)]
    )
    func whateverACacheThrowsIsACacheError(failure: any Error, code: AuthenticationError.Code) async throws {
        cache.state.withLock { $0.readFailure = failure }
        let errors = [
            await #expect(throws: AuthenticationError.self) { try await store.snapshot(for: id) },
            await #expect(throws: AuthenticationError.self) { try await store.allSnapshots() },
            await #expect(throws: AuthenticationError.self) { try await store.update(id) { $0 } },
            await #expect(throws: AuthenticationError.self) { try await store.take(store.key(for: id)) },
        ]
        #expect(errors.map { $0?.code } == Array(repeating: code, count: 4))
    }

    @Test func aCancelledCallStaysCancelled() async throws {
        cache.state.withLock { $0.readFailure = CancellationError() }
        let task = Task { [store, id] in
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return try await store.snapshot(for: id)
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    /// The provider has spent the refresh token that was sent: it must not be forgotten.
    @Test func keepsAnAnswerIfTheCacheTakesItsWriteForCancelled() async throws {
        try await put(Fixture.credentials())
        cache.state.withLock { $0.writeFailure = CancellationError() }
        let base = Fixture.credentials()
        let sent = try #require(base.refreshToken)
        let write = AccountWrite.rotate(base, sent: sent, secret: "rotated")
        let kept = try await store.commit(id, write, at: Self.now)
        #expect(isFailed(kept?.persistence, .cache) && kept?.credentials.refreshToken?.secret == "rotated")
        cache.state.withLock { $0.writeFailure = nil }
        #expect(try await store.snapshot(for: id)?.credentials.refreshToken?.secret == "rotated")
    }

    /// A newer version rewrote the record during a refresh. All of it stays but the refresh token that was spent.
    @Test(arguments: [true, false])
    func aRefreshReplacesTheSpentTokenInANewerRecord(isSpent: Bool) async throws {
        let base = Fixture.credentials()
        try await put(base)
        let key = store.key(for: id)
        let sent = try #require(base.refreshToken)
        let record = try #require(try await cache.storage.record(for: key))
        func newer(_ secret: String) -> CacheRecord {
            let text = String(decoding: record.bytes, as: UTF8.self)
                .replacing(#""v":1"#, with: #""v":2,"meaning":["other"]"#)
                .replacing("\"\(sent.secret)\"", with: "\"\(secret)\"")
            return CacheRecord(bytes: Array(text.utf8))
        }
        let secret = isSpent ? sent.secret : "of the newer program"
        #expect(try await cache.storage.replace(record, with: newer(secret), for: key))
        let write = AccountWrite.rotate(base, sent: sent, secret: "rotated")
        let stored = try await store.commit(id, write, at: Self.now)
        #expect(try await cache.storage.record(for: key) == newer(isSpent ? "rotated" : secret))
        #expect(stored?.credentials.refreshToken?.secret == (isSpent ? "rotated" : secret))
        #expect(stored?.record != nil && stored?.credentials.version == 2)
    }

    /// The record was read under the lease.
    @Test(arguments: [false, true])
    func aRefreshLooksAgainOnlyWhereAnotherProcessWrote(isChanged: Bool) async throws {
        try await put(Fixture.credentials())
        let base = try #require(try await store.snapshot(for: id)?.credentials)
        let other = CredentialStore(cache: cache, group: group, clientID: "client")
        if isChanged { _ = try await other.update(id) { _ in Fixture.credentials(refreshToken: "of the other") } }
        let before = cache.state.value
        let write = AccountWrite.rotate(base, sent: try #require(base.refreshToken), secret: "rotated")
        let stored = try await store.commit(id, write, at: Self.now)
        #expect(stored?.credentials.refreshToken?.secret == (isChanged ? "of the other" : "rotated"))
        let after = cache.state.value
        #expect(after.writes == before.writes + 1 && after.reads == before.reads + (isChanged ? 1 : 0))
    }

    @Test func listsWithoutDecodingAgain() async throws {
        try await put(Fixture.credentials())
        let first = try await store.allSnapshots()
        #expect(try await store.allSnapshots() === first)
        try await put(Fixture.credentials(refreshToken: "r2"))
        let second = try await store.allSnapshots()
        #expect(second !== first && second.snapshots.count == 1)
    }

    @Test func aListingDecodesWhatChangedAndKeepsTheRest() async throws {
        let ids = (0..<40).map { RecordID(partition: "oidc|x", accountID: "person \($0)") }
        func put(_ number: Int, _ credentials: AccountCredentials?) async throws {
            _ = try await store.update(ids[number]) { _ in credentials }
        }
        func person(_ number: Int, refreshToken: String = "r") -> AccountCredentials {
            Fixture.credentials(partition: "oidc|x", account: ids[number].accountID, refreshToken: refreshToken)
        }
        for number in 0..<39 { try await put(number, person(number)) }
        let first = try await store.allSnapshots()
        #expect(first.accounts(inScope: "oidc|x").count == 39)
        try await put(3, nil)
        try await put(7, person(7, refreshToken: "r2"))
        try await put(39, person(39))
        let second = try await store.allSnapshots()
        let kept = second.snapshots.filter { $0.value === first.snapshots[$0.key] }
        #expect(kept.count == 37 && second.snapshots.count == 39)
        #expect(second.snapshots[store.key(for: ids[7])]?.credentials.refreshToken?.secret == "r2")
        let people = Set(second.accounts(inScope: "oidc|x").map(\.id.rawValue))
        #expect(people == Set(ids.map(\.accountID)).subtracting(["person 3"]))
    }
}
