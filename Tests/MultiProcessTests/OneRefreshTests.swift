// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTesting
import Testing

/// Many processes, one refresh token, and a provider that ends the sign-in when the token comes twice.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct OneRefreshTests {
    @Test(arguments: 1...Repetitions.count)
    func refreshesOnceForTwentyProcesses(_ repetition: Int) async throws {
        let house = try await Household()
        let workers = try await house.workers(20)
        for worker in workers { worker.go() }
        var reports: [Worker.Report] = []
        for worker in workers { reports.append(try #require(try await worker.report())) }
        #expect(reports.allSatisfy { $0.error == nil }, "\(reports.compactMap(\.error))")
        #expect(Set(reports.map(\.token)).count == 1 && reports[0].token != nil)
        #expect(reports.count { $0.source == "identityProvider" } == 1)
        #expect(house.sentRefreshTokens.count == 1)
        // The family is alive: the stored refresh token is the one that counts.
        let next = try #require(try await house.acquire("--force"))
        #expect(next.error == nil && next.source == "identityProvider")
        #expect(house.provider.accepts(accessToken: try #require(next.token)))
    }

    /// The arrangement is worth nothing unless it notices that leases are missing.
    @Test func noticesProgramsWithoutLeases() async throws {
        let house = try await Household()
        var workers: [Worker] = []
        for _ in 0..<4 { workers.append(try await house.worker(crash: "no-leases")) }
        let gate = Gate()
        house.provider.failAlways(.token, with: .held(by: gate))
        for worker in workers { worker.go() }
        try await house.provider.waitForRequest(.token, count: 4)
        gate.open()
        for worker in workers { _ = try await worker.report() }
        let sent = house.sentRefreshTokens
        #expect(Set(sent).count < sent.count)
        #expect(try #require(try await house.acquire("--force")).error == "interaction_required.sign_in_expired")
    }

    @Test func waitsShortlyForAProviderThatTakesFiftyMilliseconds() async throws {
        var waits: [Double] = []
        for _ in 0..<Repetitions.count {
            let house = try await Household()
            let workers = try await house.workers(20)
            house.provider.failNext(.token, with: .delay(.milliseconds(50)))
            for worker in workers { worker.go() }
            for worker in workers {
                let report = try #require(try await worker.report())
                #expect(report.error == nil)
                waits.append(report.milliseconds)
            }
            #expect(house.sentRefreshTokens.count == 1)
        }
        waits.sort()
        let (median, longest) = (waits[waits.count / 2], waits[waits.count - 1])
        print("WAITS 20 processes, 50 ms: median \(Int(median)) ms, longest \(Int(longest)) ms, \(waits.count) waits")
        // Wanted are 80 and 200 ms on a quiet machine; a busy one gets some slack.
        #expect(median < 400)
        #expect(longest < 2000)
    }
}
