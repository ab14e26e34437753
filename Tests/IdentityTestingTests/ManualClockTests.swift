// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityTestSupport
import IdentityTesting
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ManualClockTests {
    @Test func standsStillUntilItIsMoved() {
        let clock = ManualClock(now: Date(timeIntervalSince1970: 1000))
        #expect(clock.now == Date(timeIntervalSince1970: 1000))
        clock.advance(by: .milliseconds(1500))
        #expect(clock.now == Date(timeIntervalSince1970: 1001.5))
    }

    @Test func wakesOnlyThoseWhoseTimeHasCome() async throws {
        let clock = ManualClock()
        let short = Task { try await clock.sleep(for: .seconds(1)) }
        let long = Task { try await clock.sleep(for: .seconds(10)) }
        try await clock.waitForSleepers(2)
        clock.advance(by: .seconds(1))
        try await short.value
        #expect(clock.sleeperCount == 1)
        clock.advance(by: .seconds(9))
        try await long.value
        #expect(clock.sleeperCount == 0)
    }

    @Test func letsGoOfACancelledSleeper() async throws {
        let clock = ManualClock()
        let sleeper = Task { try await clock.sleep(for: .seconds(1)) }
        try await clock.waitForSleepers()
        sleeper.cancel()
        await #expect(throws: CancellationError.self) { try await sleeper.value }
        #expect(clock.sleeperCount == 0)
    }

    @Test func doesNotSleepForNothing() async throws {
        try await ManualClock().sleep(for: .zero)
    }

    @Test func saysWhatItWaitedForInVain() async {
        for (count, words) in [(1, "A sleep on the clock"), (3, "3 sleeps on the clock at a time")] {
            let error = await #expect(throws: WaitTimedOut.self) {
                try await ManualClock().waitForSleepers(count, timeout: .milliseconds(1))
            }
            #expect(error?.description == "\(words) did not happen in time.")
        }
    }
}
