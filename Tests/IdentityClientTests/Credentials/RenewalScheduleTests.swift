// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import IdentityClient

@Suite struct RenewalScheduleTests {
    /// The life of the token, the wanted validity, the draw, and the margin before its end.
    @Test(
        arguments: [
            (3600, nil, 0, 300), (3600, nil, 1, 600), (3600, nil, 0.5, 450), (86_400, nil, 1, 600), (60, nil, 0, 30),
            (60, nil, 1, 36), (3600, 600, 0, 600), (3600, 600, 1, 900), (3600, 3600, 0, 3240), (3600, 3600, 1, 3240),
            (0, nil, 1, 0), (-10, nil, 1, 0), (-10, 600, 0.5, 0),
        ] as [(Int, Int?, Double, Int)]
    )
    func renewsBeforeTheEnd(life: Int, validity: Int?, draw: Double, margin: Int) {
        let schedule = RenewalSchedule(left: .seconds(life), validity: validity.map { .seconds($0) }, draw: draw)
        #expect(schedule.margin == .seconds(margin))
        #expect(schedule.isDue(left: .seconds(margin)) && !schedule.isDue(left: .seconds(margin + 1)))
    }

    /// The rest of the token's life, the failures, and the time until the next look.
    @Test(
        arguments: [
            (3600, 0, 60), (301, 0, 1), (330, 0, 30), (0, 0, 1), (-5, 0, 1), (200, 1, 5), (200, 2, 10), (200, 4, 40),
            (200, 5, 60), (-5, 99, 60),
        ] as [(Int, Int, Int)]
    )
    func looksInTime(left: Int, failures: Int, wait: Int) {
        let schedule = RenewalSchedule(left: .seconds(3600), validity: nil, draw: 0)
        #expect(schedule.wait(left: .seconds(left), failures: failures) == .seconds(wait))
    }

    /// Ten thousand programs whose tokens came at the same second: no second gets more than a hundred of their renewals.
    @Test func spreadsWhatTheServerWantsRenewedEarly() {
        var seconds: [Int64: Int] = [:]
        for number in 0..<10_000 {
            let time = RenewalSchedule.renewal(of: "token-\(number)", from: 1000, expiresOn: 5000)
            seconds[time, default: 0] += 1
        }
        #expect(seconds.keys.min() == 1000 && seconds.keys.max() == 1299)
        #expect(seconds.count == 300 && seconds.values.max() ?? 0 < 100)
    }

    @Test func neverRenewsBeforeTheServerWishesOrNearTheEnd() {
        for (refreshOn, expiresOn, latest) in [(1000, 1100, 1010), (1000, 1000, 1000), (1000, 900, 1000)]
            as [(Int64, Int64, Int64)]
        {
            for number in 0..<200 {
                let time = RenewalSchedule.renewal(of: "\(number)", from: refreshOn, expiresOn: expiresOn)
                #expect((refreshOn...latest).contains(time))
            }
        }
        let token = Fixture.accessToken("some", refreshOn: Fixture.now + 100)
        let turn = RenewalSchedule.renewal(of: "some", from: Fixture.now + 100, expiresOn: Fixture.now + 3600)
        #expect(!token.isDueForRefresh(at: turn - 1) && token.isDueForRefresh(at: turn))
        #expect(RenewalSchedule.draw(for: "a") == RenewalSchedule.draw(for: "a"))
        #expect(RenewalSchedule.draw(for: "a") != RenewalSchedule.draw(for: "b"))
    }
}
