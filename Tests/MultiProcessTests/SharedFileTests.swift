// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityCacheTesting
import IdentityTesting
import Testing

/// The file of other programs, briefly. `IDENTITY_SOAK_STORES=shared` runs every test of this target over it.
@Suite(.serialized, .timeLimit(.minutes(3)), .disabled(if: Store.chosen.contains(.shared), "runs anyway"))
struct SharedFileTests {
    @Test func refreshesOnceForEightProcesses() async throws {
        let setup = try await SharedCacheSetup(.shared)
        let workers = try await setup.workers(8)
        for worker in workers { worker.go() }
        var reports: [WorkerReport] = []
        for worker in workers { reports.append(try #require(try await worker.report())) }
        #expect(reports.allSatisfy { $0.error == nil }, "\(reports.compactMap(\.error))")
        #expect(Set(reports.map(\.token)).count == 1 && reports[0].token != nil)
        #expect(setup.sentRefreshTokens.count == 1)
    }

    @Test func survivesSIGKILLAtAnyMoment() async throws {
        let result = try await RandomKills(4, in: SharedCacheSetup(.shared, grace: .seconds(30)))
        #expect(result.deaths == 4)
    }
}
