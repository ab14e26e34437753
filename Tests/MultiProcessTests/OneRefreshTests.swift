// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityCacheTesting
import IdentityClient
import IdentityTesting
import Testing

/// Many processes with the same refresh token, and a provider that ends the sign-in if the token arrives twice.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct OneRefreshTests {
    @Test(arguments: Store.chosen, 1...Repetitions.count)
    func refreshesOnceForTwentyProcesses(_ store: Store, _ repetition: Int) async throws {
        let setup = try await SharedCacheSetup(store)
        let workers = try await setup.workers(20)
        for worker in workers { worker.go() }
        var reports: [WorkerReport] = []
        for worker in workers { reports.append(try #require(try await worker.report())) }
        #expect(reports.allSatisfy { $0.error == nil }, "\(reports.compactMap(\.error))")
        #expect(Set(reports.map(\.token)).count == 1 && reports[0].token != nil)
        #expect(reports.count { $0.source == "identityProvider" } == 1)
        #expect(setup.sentRefreshTokens.count == 1)
        // The family is alive: the stored refresh token is the one that counts.
        let next = try #require(try await setup.refresh())
        #expect(next.error == nil && next.source == "identityProvider")
        #expect(setup.provider.accepts(accessToken: try #require(next.token)))
        print("ROUNDS \(store) 1")
    }

    /// The setup proves nothing unless it notices missing leases.
    @Test func noticesProgramsWithoutLeases() async throws {
        let setup = try await SharedCacheSetup()
        var workers: [WorkerProcess] = []
        for _ in 0..<4 { workers.append(try await setup.worker { $0.crash = "no-leases" }) }
        let gate = TestGate()
        setup.provider.failAlways(.token, with: .held(by: gate))
        for worker in workers { worker.go() }
        try await setup.provider.waitForRequest(.token, count: 4)
        gate.open()
        for worker in workers { _ = try await worker.report() }
        let sent = setup.sentRefreshTokens
        #expect(Set(sent).count < sent.count)
        #expect(try #require(try await setup.refresh()).error == "interaction_required.sign_in_expired")
    }

    @Test(arguments: Store.chosen)
    func waitsShortlyForAProviderThatTakesFiftyMilliseconds(_ store: Store) async throws {
        var waits: [Double] = []
        for _ in 0..<Repetitions.count {
            let setup = try await SharedCacheSetup(store)
            // None of them ends, which would take the others' time, before all have their token.
            let workers = try await setup.workers(20) { $0.rounds = 2 }
            setup.provider.failNext(.token, with: .delay(.milliseconds(50)))
            for worker in workers { worker.go() }
            for worker in workers {
                let report = try #require(try await worker.report())
                #expect(report.error == nil)
                waits.append(report.milliseconds)
            }
            #expect(setup.sentRefreshTokens.count == 1)
        }
        waits.sort()
        let (median, longest) = (waits[waits.count / 2], waits[waits.count - 1])
        print("WAITS \(store): median \(Int(median)) ms, longest \(Int(longest)) ms, \(waits.count) waits for 50 ms")
        // A busy machine gets slack, but no process waits until a lease expires.
        #expect(median < (Repetitions.isQuiet ? 80 : 2000))
        #expect(longest < (Repetitions.isQuiet ? 200 : 5000))
    }
}
