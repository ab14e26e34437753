// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityTestSupport
import Testing

@testable import IdentityClient

@Suite(.timeLimit(.minutes(1))) struct PageDeliveriesTests {
    private let deliveries = PageDeliveries()

    /// A task that waits longer than the test's time limit.
    private func wait() -> Task<Void, Never> {
        Task.immediate { [deliveries] in await deliveries.ended(within: .seconds(600)) }
    }

    @Test func nothingUnderWayIsNotWaitedFor() async {
        deliveries.begin([1])
        deliveries.end(1)
        let start = ContinuousClock.now
        await wait().value
        #expect(start.duration(to: .now) < .seconds(30))
    }

    @Test func allWhoWaitGoOnWithTheLastPage() async {
        deliveries.begin([1, 2, 3])
        let isLast = Shared(false)
        let waiting = (0..<3).map { _ in
            Task.immediate { [deliveries] in
                await deliveries.ended(within: .seconds(600))
                return isLast.value
            }
        }
        deliveries.end(1)
        deliveries.redirect(2)
        deliveries.endAllRedirected()
        // One page is still in progress, so this call ends by its timeout. By then, any task that was released too early has
        // continued.
        await deliveries.ended(within: .milliseconds(50))
        isLast.withLock { $0 = true }
        deliveries.end(3)
        for task in waiting { #expect(await task.value) }
    }

    @Test(arguments: [true, false])
    func whoIsCancelledGoesOnAtOnce(before: Bool) async {
        deliveries.begin([1])
        let other = wait()
        let start = ContinuousClock.now
        let cancelled = Task.immediate { [deliveries] in
            if before { unsafe withUnsafeCurrentTask { unsafe $0?.cancel() } }
            await deliveries.ended(within: .seconds(600))
        }
        cancelled.cancel()
        await cancelled.value
        #expect(start.duration(to: .now) < .seconds(30))
        deliveries.end(1)
        await other.value
    }
}
