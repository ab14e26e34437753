// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import SystemSupport
import Testing

/// A refresh token is spent only if its successor can be stored.
@Suite(.timeLimit(.minutes(1)))
struct ReservedRefreshTests {
    private let cache = UnreliableCache()
    private let setup: TestSetup

    init() throws {
        setup = try TestSetup(cache: cache)
        cache.writeFailure = AuthenticationError(.cacheFull, "There is no room left. Free some space.")
    }

    @Test func sendsNothingIfTheAnswerCouldNotBeStored() async throws {
        let (application, first) = try await setup.signedIn()
        let requests = setup.provider.count(of: .token)
        setup.clock.advance(by: .seconds(3600))
        cache.refusesReservations = true
        for forces in [false, true] {
            let parameters = SilentParameters(scopes: ["api.read"], account: first.account, forcesRefresh: forces)
            let error = try await expectError(.cacheFull) { try await application.acquireTokenSilently(parameters) }
            #expect(error.message.hasPrefix("No new token was requested"))
            #expect(error.message.hasSuffix("There is no room left. Free some space."))
        }
        #expect(setup.provider.count(of: .token) == requests)
        #expect(try await application.finishPendingWork(within: .seconds(1)))
        cache.refusesReservations = false
        let renewed = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(renewed.source == .identityProvider && setup.provider.count(of: .token) == requests + 1)
    }

    @Test func returnsTheTokenOfTheCacheWhileItIsGood() async throws {
        let (application, first) = try await setup.signedIn()
        let requests = setup.provider.count(of: .token)
        cache.refusesReservations = true
        let wanted = SilentParameters(scopes: ["api.read"], account: first.account, minimumValidity: .seconds(100_000))
        let still = try await application.acquireTokenSilently(wanted)
        #expect(still.accessToken == first.accessToken && still.source == .cache)
        var forced = wanted
        forced.forcesRefresh = true
        try await expectError(.cacheFull) { try await application.acquireTokenSilently(forced) }
        #expect(setup.provider.count(of: .token) == requests)
    }

    @Test(arguments: [true, false])
    func givesBackWhatWasReserved(isRefused: Bool) async throws {
        let storage = ReservingCache()
        let setup = try TestSetup(cache: storage)
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3600))
        if isRefused { setup.provider.failNext(.token, with: .refusal("invalid_client", status: 401)) }
        let size = try #require(try await setup.storedCredentials(of: application).values.first).bytes.count
        _ = try? await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        try await application.finishPendingWork(within: .seconds(15))
        let calls = storage.calls.value
        #expect(calls.reserved.count == 1 && calls.released == 1)
        #expect(calls.reserved[0] >= size + 8192, "There is room for longer tokens.")
    }

    /// The rest of a program may use up its descriptors during the request.
    @Test func storesTheAnswerThoughNothingCanBeOpenedAnyMore() async {
        await #expect(processExitsWith: .success) {
            let directory = try TemporaryDirectory()
            let setup = try TestSetup(cache: FileTokenCache(directory: directory.path + "/cache"))
            let (application, first) = try await setup.signedIn()
            let refresh = { @Sendable () async throws -> AuthenticationResult in
                setup.clock.advance(by: .seconds(3600))
                return try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            }
            _ = try await refresh()  // everything is loaded
            let (gate, count) = (TestGate(), setup.provider.count(of: .token))
            setup.provider.failNext(.token, with: .held(by: gate))
            let last = Task { try await refresh() }
            try await setup.provider.waitForRequest(.token, count: count + 1)
            var limit = rlimit()
            try CallFailed.check(unsafe getrlimit(Int32(RLIMIT_NOFILE.rawValue), &limit), "getrlimit")
            limit.rlim_cur = 256
            try CallFailed.check(unsafe setrlimit(Int32(RLIMIT_NOFILE.rawValue), &limit), "setrlimit")
            while dup(STDIN_FILENO) >= 0 {}
            #expect(errno == EMFILE)
            gate.open()
            let result = try await last.value
            #expect(result.source == .identityProvider)
            if case .failed(let error) = result.persistence { Issue.record("\(error)") }
        }
    }

    /// A disk that is full when the answer comes is tried until there is room, not once.
    @Test func triesToWriteUntilItSucceeds() async throws {
        let (application, first) = try await setup.signedIn()
        cache.refusedWrites = [.account]
        setup.clock.advance(by: .seconds(3600))
        _ = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        let before = cache.refusalCount
        let finishing = Task { try await application.finishPendingWork(within: .seconds(30)) }
        try await wait { cache.refusalCount >= before + 3 }
        cache.refusedWrites = []
        #expect(try await finishing.value)
        #expect(application.unwrittenRefresh == nil)
    }

    @Test func saysAtTheEndOfTheTimeWhatCouldNotBeStored() async throws {
        let (application, first) = try await setup.signedIn()
        cache.refusedWrites = [.account]
        setup.clock.advance(by: .seconds(3600))
        _ = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        try await expectError(.cacheFull) { try await application.finishPendingWork(within: .milliseconds(200)) }
        #expect(application.unwrittenRefresh?.code == .cacheFull)
    }

    /// The refresh token in the cache is still the one that counts.
    @Test func losesNothingWhereTheRefreshTokenStays() async throws {
        setup.provider.settings.rotatesRefreshTokens = false
        let (application, first) = try await setup.signedIn()
        cache.refusedWrites = [.account]
        setup.clock.advance(by: .seconds(3600))
        let renewed = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        try await expectError(.cacheFull) { try await application.finishPendingWork(within: .milliseconds(200)) }
        #expect(renewed.source == .identityProvider && application.unwrittenRefresh == nil)
    }

    /// A first attempt to write may outlast the time that a program has for its end.
    @Test func tellsAWriteThatGoesOn() async throws {
        let storage = StuckCache()
        let setup = try TestSetup(cache: storage)
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3600))
        let (writing, gate) = (Promise<Void>(), Promise<Void>())
        storage.beforeWriting.withLock { $0 = (writing, gate) }
        let refresh = Task {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        try await writing.value()
        #expect(application.unwrittenRefresh?.code == .cacheBusy)
        #expect(try await !application.finishPendingWork(within: .zero))
        gate.finish(.success(()))
        #expect(try await refresh.value.source == .identityProvider)
        #expect(application.unwrittenRefresh == nil)
    }
}

/// Holds the next write of an account.
private final class StuckCache: TokenCache {
    let beforeWriting = Shared<(begun: Promise<Void>, end: Promise<Void>)?>(nil)
    private let storage = InMemoryTokenCache()

    func record(for key: CacheKey) async throws -> CacheRecord? { try await storage.record(for: key) }

    func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool {
        if key.kind == .account, let held = beforeWriting.value {
            beforeWriting.withLock { $0 = nil }
            held.begun.finish(.success(()))
            try await held.end.value()
        }
        return try await storage.replace(expected, with: new, for: key)
    }

    func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        try await storage.records(of: kind, in: group)
    }
}

/// Counts what is reserved.
private final class ReservingCache: TokenCache {
    final class Reservation: TokenCacheReservation {
        private let calls: Shared<(reserved: [Int], released: Int)>

        init(_ calls: Shared<(reserved: [Int], released: Int)>) { self.calls = calls }

        func release() async { calls.withLock { $0.released += 1 } }
    }

    let calls = Shared<(reserved: [Int], released: Int)>(([], 0))
    private let storage = InMemoryTokenCache()

    func record(for key: CacheKey) async throws -> CacheRecord? { try await storage.record(for: key) }

    func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool {
        try await storage.replace(expected, with: new, for: key)
    }

    func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        try await storage.records(of: kind, in: group)
    }

    func reserve(_ bytes: Int, for key: CacheKey) async throws -> (any TokenCacheReservation)? {
        calls.withLock { $0.reserved.append(bytes) }
        return Reservation(calls)
    }
}
