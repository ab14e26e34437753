// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityCacheTesting
import IdentityClient
import IdentityTesting
import Testing

/// A process that stands still has not ended: its lease binds the others.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct StoppedHolderTests {
    @Test(arguments: Store.chosen) func aStoppedProcessKeepsItsLease(_ store: Store) async throws {
        let setup = try await SharedCacheSetup(store)
        let gate = Gate()
        setup.provider.failNext(.token, with: .held(by: gate))
        let holder = try await setup.worker()
        let waiter = try await setup.worker { $0.tellsThatItWaits = true }
        holder.go()
        try await setup.provider.waitForRequest(.token)
        kill(holder.process, SIGSTOP)
        waiter.go()
        try await waiter.waiting()
        #expect(setup.sentRefreshTokens.count == 1)
        kill(holder.process, SIGCONT)
        gate.open()
        let token = try #require(try await holder.report()).token
        #expect(token != nil)
        #expect(try #require(try await waiter.report()).token == token)
        #expect(setup.sentRefreshTokens.count == 1)
    }
}
