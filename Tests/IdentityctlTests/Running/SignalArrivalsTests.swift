// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import identityctl

@Suite struct SignalArrivalsTests {
    @Test(
        arguments: [
            (SIGINT, SIGINT, 0, .nothing), (SIGINT, SIGINT, 499, .nothing), (SIGINT, SIGINT, 500, .again),
            (SIGTERM, SIGINT, 20, .nothing), (SIGTERM, SIGQUIT, 2000, .again), (SIGINT, SIGTERM, 2000, .nothing),
            (SIGHUP, SIGHUP, 2000, .nothing),
        ] as [(Int32, Int32, Int, SignalArrivals.Meaning)]
    )
    func countsSignalsWithinHalfASecondAsOne(
        _ first: Int32,
        _ second: Int32,
        _ milliseconds: Int,
        _ meaning: SignalArrivals.Meaning
    ) {
        var arrivals = SignalArrivals()
        let begin = ContinuousClock.now
        #expect(arrivals.meaning(of: first, at: begin) == .first)
        #expect(arrivals.meaning(of: second, at: begin + .milliseconds(milliseconds)) == meaning)
    }

    @Test func hearsThePersonAfterADoubledSignal() {
        var arrivals = SignalArrivals()
        let begin = ContinuousClock.now
        let meanings = [0, 1, 400, 600].map { arrivals.meaning(of: SIGINT, at: begin + .milliseconds($0)) }
        #expect(meanings == [.first, .nothing, .nothing, .again])
    }
}
