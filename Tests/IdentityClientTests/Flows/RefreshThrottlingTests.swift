// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import IdentityClient

@Suite struct RefreshThrottlingTests {
    @Test(arguments: [(0, true), (59, true), (60, false), (-1, true), (-3600, false)] as [(Int64, Bool)])
    func waitsAsLongAsTheServerAsked(later: Int64, waits: Bool) throws {
        let throttling = RefreshThrottling()
        let error = AuthenticationError(.throttled, "", retryAfter: .seconds(60))
        throttling.note(error, for: "key", "refused", at: Fixture.now)
        let now = Fixture.now + later
        let isThrottled = (try? throttling.checkWait(for: "key", at: now, context: Fixture.context)) == nil
        #expect(isThrottled == waits)
        #expect(throws: Never.self) { try throttling.checkWait(for: "other", at: now, context: Fixture.context) }
    }

    @Test func waitsForAnHourIfTheServerAskedForAYear() throws {
        let throttling = RefreshThrottling()
        let error = AuthenticationError(.throttled, "", retryAfter: .seconds(365 * 86_400))
        throttling.note(error, for: "key", "refused", at: Fixture.now)
        func check(_ later: Int64) throws {
            try throttling.checkWait(for: "key", at: Fixture.now + later, context: Fixture.context)
        }
        for later in [0, 3599] as [Int64] { #expect(throws: AuthenticationError.self) { try check(later) } }
        #expect(throws: Never.self) { try check(3600) }
    }

    @Test func remembersNoWaitWithoutATime() throws {
        let throttling = RefreshThrottling()
        throttling.note(AuthenticationError(.signInExpired, ""), for: "key", "refused", at: Fixture.now)
        #expect(throws: Never.self) { try throttling.checkWait(for: "key", at: Fixture.now, context: Fixture.context) }
    }

    /// The last column is the time after the fifth refusal.
    @Test(
        arguments: [
            (5, 0, 0, true), (4, 0, 0, false), (5, 0, 59, true), (5, 0, 60, false), (5, 15, 0, true), (5, 16, 0, false),
            (5, 0, -1, false),
        ] as [(Int, Int64, Int64, Bool)]
    )
    func stopsAfterFiveRefusalsInAMinute(count: Int, apart: Int64, later: Int64, stops: Bool) throws {
        let throttling = RefreshThrottling()
        var now = Fixture.now
        for index in 0..<count {
            if index > 0 { now += apart }
            throttling.note(AuthenticationError(.signInExpired, ""), for: "key", "refused", at: now)
        }
        throttling.moveRefusals(from: "refused", to: "moved")
        var error: (any Error)?
        do {
            try throttling.checkRefusals(of: "moved", at: now + later, context: Fixture.context)
        } catch let thrown { error = thrown }
        #expect((error as? AuthenticationError)?.code == (stops ? .signInExpired : nil))
        #expect(throws: Never.self) { try throttling.checkRefusals(of: "refused", at: now, context: Fixture.context) }
    }

    @Test(arguments: [(0, false), (59, false), (60, true), (-1, true)] as [(Int64, Bool)])
    func renewsNoValidTokenForAMinuteAfterAFailure(later: Int64, mayRenew: Bool) throws {
        let throttling = RefreshThrottling()
        let key = CacheKey(group: try CacheGroup("group"), kind: .account, name: "name")
        throttling.renewalFailed(key, AuthenticationError(.serverUnavailable, "Down."), at: Fixture.now)
        #expect(throttling.mayRenew(key, at: Fixture.now + later) == mayRenew)
    }
}
