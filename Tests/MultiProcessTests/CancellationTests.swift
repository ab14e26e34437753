// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityCacheTesting
import IdentityClient
import IdentityTesting
import Testing

/// Callers that give up while several processes wait for one refresh (T5).
@Suite(.serialized, .timeLimit(.minutes(3)))
struct CancellationTests {
    /// The process that sends the request has two callers, and the first or both give up.
    @Test(arguments: Store.chosen, [1, 2])
    func finishesForOtherCallersIfOneIsCancelled(_ store: Store, _ cancelled: Int) async throws {
        let setup = try await SharedCacheSetup(store)
        let gate = TestGate()
        setup.provider.failNext(.token, with: .held(by: gate))
        let holder = try await setup.worker { $0.rounds = 3 }
        let others = try await setup.workers(4)
        holder.go()
        try await setup.provider.waitForRequest(.token)
        holder.go()
        for other in others { other.go() }
        for caller in 0..<cancelled {
            holder.cancel()
            #expect(try #require(try await holder.report(caller)).error == "CancellationError")
        }
        gate.open()
        holder.go()
        var reports = [try #require(try await holder.report(2))]
        if cancelled == 1 { reports.append(try #require(try await holder.report(1))) }
        for other in others { reports.append(try #require(try await other.report())) }
        #expect(reports.allSatisfy { $0.error == nil }, "\(reports.compactMap(\.error))")
        #expect(Set(reports.map(\.token)).count == 1 && reports[0].token != nil)
        #expect(setup.sentRefreshTokens.count == 1)
        #expect(try #require(try await setup.refresh()).error == nil)
    }

    /// All callers of all processes give up at once. The answer to the request is stored all the same.
    @Test(arguments: Store.chosen)
    func storesTheTokenIfEveryCallerIsCancelled(_ store: Store) async throws {
        let setup = try await SharedCacheSetup(store)
        let gate = TestGate()
        setup.provider.failNext(.token, with: .held(by: gate))
        let holder = try await setup.worker { $0.rounds = 2 }
        let others = try await setup.workers(3)
        holder.go()
        try await setup.provider.waitForRequest(.token)
        for other in others { other.go() }
        for worker in [holder] + others {
            worker.cancel()
            #expect(try #require(try await worker.report()).error == "CancellationError")
        }
        gate.open()
        holder.go()
        let late = try #require(try await holder.report(1))
        let next = try #require(try await setup.acquire())
        #expect(late.error == nil && next.error == nil && next.source == "cache")
        #expect(next.token == late.token)
        #expect(setup.sentRefreshTokens.count == 1)
        #expect(try #require(try await setup.refresh()).error == nil)
    }
}
