// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
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

    /// An application whose provider has refused requests for a minute.
    private func throttled() async throws -> (Stage, PublicClientApplication, AuthenticationResult) {
        let stage = try Stage()
        let (one, first) = try await stage.signedIn()
        stage.clock.advance(by: .seconds(3600))
        stage.provider.failNext(.token, with: .throttled(retryAfter: .seconds(60)))
        try await expectError(.throttled) { try await acquire(one, first.account) }
        return (stage, one, first)
    }

    @Test func anotherProgramWaitsToo() async throws {
        let (stage, _, first) = try await throttled()
        let other = try stage.application()
        let sent = stage.provider.count(of: .token)
        stage.clock.advance(by: .seconds(20))
        let error = try await expectError(.throttled) { try await acquire(other, first.account) }
        #expect(error.retryAfter == .seconds(40))
        #expect(stage.provider.count(of: .token) == sent, "Nothing may be sent in that time.")
        stage.clock.advance(by: .seconds(40))
        #expect(try await acquire(other, first.account).source == .identityProvider)
    }

    @Test func otherScopesDoNotWait() async throws {
        let stage = try Stage(.entra)
        let (one, first) = try await stage.signedIn()
        let other = try stage.application()
        stage.clock.advance(by: .seconds(3600))
        stage.provider.failNext(.token, with: .throttled(retryAfter: .seconds(60)))
        try await expectError(.throttled) { try await acquire(one, first.account) }
        #expect(try await acquire(other, first.account, "api.write").source == .identityProvider)
    }

    @Test func leavesNothingBehindWhenTheWaitIsOver() async throws {
        let (stage, one, first) = try await throttled()
        let group = CacheGroup.application("test-client")
        #expect(try await stage.cache.records(of: .lease, in: group).count == 1)
        stage.clock.advance(by: .seconds(61))
        _ = try await acquire(one, first.account)
        #expect(try await stage.cache.records(of: .lease, in: group).isEmpty)
    }

    @Test func aWaitWithoutATimeOfTheServersIsNotShared() async throws {
        let stage = try Stage()
        let (one, first) = try await stage.signedIn()
        let other = try stage.application()
        stage.clock.advance(by: .seconds(3600))
        stage.provider.failNext(.token, with: .throttled(retryAfter: nil))
        try await expectError(.throttled) { try await acquire(one, first.account) }
        #expect(try await acquire(other, first.account).source == .identityProvider)
    }

    /// A program whose clock is a day behind neither waits for a day nor ends the wait of the others.
    @Test func bearsAClockThatIsADayWrong() async throws {
        let (stage, _, first) = try await throttled()
        let other = try stage.application()
        let behind = ManualClock(now: stage.clock.now.addingTimeInterval(-86_400))
        let wrong = try stage.application { $0.clock = behind }
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
    func aWaitFromAnImpossibleTimeBindsNobody(notedAt: Int64) {
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
        let (stage, _, first) = try await throttled()
        let group = CacheGroup.application("test-client")
        let (key, record) = try #require(try await stage.cache.records(of: .lease, in: group).first)
        let damaged = CacheRecord(bytes: Array(#"{"noted_at":0,"seconds":-9223372036854775808}"#.utf8))
        _ = try await stage.cache.replace(record, with: damaged, for: key)
        #expect(try await acquire(try stage.application(), first.account).source == .identityProvider)
        #expect(try await stage.cache.record(for: key) == nil)
    }

    /// For example, waits for scopes that are not requested again.
    @Test func theNextWaitRemovesThoseThatAreOver() async throws {
        let stage = try Stage(.entra)
        let (one, first) = try await stage.signedIn()
        let group = CacheGroup.application("test-client")
        for scope in ["api.a", "api.b", "api.c"] as [Scope] {
            stage.clock.advance(by: .seconds(61))
            stage.provider.failNext(.token, with: .throttled(retryAfter: .seconds(60)))
            try await expectError(.throttled) { try await acquire(one, first.account, scope) }
            #expect(try await stage.cache.records(of: .lease, in: group).values.compactMap(ServerWait.init).count == 1)
        }
    }
}
