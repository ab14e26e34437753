// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityTestSupport
import IdentityTesting
import Testing

@testable import IdentityClient

/// A wait that a server demanded from one program applies to all programs on the same cache.
@Suite(.timeLimit(.minutes(1)))
struct SharedThrottleTests {
    private func acquire(
        _ application: PublicClientApplication,
        _ account: Account,
        _ scope: Scope = "api.read"
    ) async throws -> AuthenticationResult {
        try await application.acquireTokenSilently(scopes: [scope], account: account)
    }

    /// An application whose provider has said that it wants no request for a minute.
    private func throttled() async throws -> (TestSetup, PublicClientApplication, AuthenticationResult) {
        let setup = try TestSetup()
        let (one, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3600))
        setup.provider.failNext(.token, with: .throttled(retryAfter: .seconds(60)))
        try await expectError(.throttled) { try await acquire(one, first.account) }
        return (setup, one, first)
    }

    @Test func anotherProgramObeysTheWait() async throws {
        let (setup, _, first) = try await throttled()
        let other = try setup.application()
        let sent = setup.provider.count(of: .token)
        setup.clock.advance(by: .seconds(20))
        let error = try await expectError(.throttled) { try await acquire(other, first.account) }
        #expect(error.retryAfter == .seconds(40))
        #expect(setup.provider.count(of: .token) == sent, "Nothing may be sent in that time.")
        setup.clock.advance(by: .seconds(40))
        #expect(try await acquire(other, first.account).source == .identityProvider)
    }

    @Test func otherScopesDoNotWait() async throws {
        let setup = try TestSetup(.entra)
        let (one, first) = try await setup.signedIn()
        let other = try setup.application()
        setup.clock.advance(by: .seconds(3600))
        setup.provider.failNext(.token, with: .throttled(retryAfter: .seconds(60)))
        try await expectError(.throttled) { try await acquire(one, first.account) }
        #expect(try await acquire(other, first.account, "api.write").source == .identityProvider)
    }

    @Test func removesAFinishedWait() async throws {
        let (setup, one, first) = try await throttled()
        let group = CacheGroup.application("test-client")
        #expect(try await setup.cache.records(of: .lease, in: group).count == 1)
        setup.clock.advance(by: .seconds(61))
        _ = try await acquire(one, first.account)
        #expect(try await setup.cache.records(of: .lease, in: group).isEmpty)
    }

    @Test func sharesOnlyAWaitWithATimeOfTheServer() async throws {
        let setup = try TestSetup()
        let (one, first) = try await setup.signedIn()
        let other = try setup.application()
        setup.clock.advance(by: .seconds(3600))
        setup.provider.failNext(.token, with: .throttled(retryAfter: nil))
        try await expectError(.throttled) { try await acquire(one, first.account) }
        #expect(try await acquire(other, first.account).source == .identityProvider)
    }

    /// A program whose clock is a day behind neither waits for a day nor ends the wait of the others.
    @Test func worksWithAClockThatIsADayWrong() async throws {
        let (setup, _, first) = try await throttled()
        let other = try setup.application()
        let behind = ManualClock(now: setup.clock.now.addingTimeInterval(-86_400))
        let wrong = try setup.application { $0.clock = behind }
        #expect(
            try await wrong.acquireTokenSilently(
                SilentParameters(scopes: ["api.read"], account: first.account, forcesRefresh: true)
            ).source == .identityProvider
        )
        try await expectError(.throttled) {
            try await other.acquireTokenSilently(
                SilentParameters(scopes: ["api.read"], account: first.account, forcesRefresh: true)
            )
        }
    }

    /// Any program that shares the directory can write such a record.
    @Test(arguments: [Int64.max, .min, 253_402_300_800])
    func ignoresAWaitFromAnImpossibleTime(notedAt: Int64) {
        #expect(ServerWait(ServerWait(notedAt: notedAt, seconds: 60).encoded()) == nil)
    }

    @Test(arguments: [(Int64.min, nil), (-1, nil), (0, nil), (1, 1), (3600, 3600), (3601, 3600), (.max, 3600)])
    func aWaitOfAnImpossibleLengthIsBounded(seconds: Int64, remaining: Int64?) throws {
        for notedAt in [Int64(0), 253_402_300_799] {
            let record = CacheRecord(bytes: Array(#"{"noted_at":\#(notedAt),"seconds":\#(seconds)}"#.utf8))
            let wait = try #require(ServerWait(record))
            #expect(wait.remaining(at: notedAt) == remaining)
            #expect(wait.remaining(at: 253_402_300_799) == (notedAt == 0 ? nil : remaining))
        }
    }

    /// A damaged record prevents no refresh and ends no program.
    @Test func aDamagedRecordIsRemoved() async throws {
        let (setup, _, first) = try await throttled()
        let group = CacheGroup.application("test-client")
        let (key, record) = try #require(try await setup.cache.records(of: .lease, in: group).first)
        let damaged = CacheRecord(bytes: Array(#"{"noted_at":0,"seconds":-9223372036854775808}"#.utf8))
        _ = try await setup.cache.replace(record, with: damaged, for: key)
        #expect(try await acquire(try setup.application(), first.account).source == .identityProvider)
        #expect(try await setup.cache.record(for: key) == nil)
    }

    /// For example, waits for scopes that are not requested again.
    @Test func aNewWaitRemovesFinishedWaits() async throws {
        let setup = try TestSetup(.entra)
        let (one, first) = try await setup.signedIn()
        let group = CacheGroup.application("test-client")
        for scope in ["api.a", "api.b", "api.c"] as [Scope] {
            setup.clock.advance(by: .seconds(61))
            setup.provider.failNext(.token, with: .throttled(retryAfter: .seconds(60)))
            try await expectError(.throttled) { try await acquire(one, first.account, scope) }
            #expect(try await setup.cache.records(of: .lease, in: group).values.compactMap(ServerWait.init).count == 1)
        }
    }
}
