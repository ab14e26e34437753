// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityCacheTesting
import IdentityClient
import IdentityTesting
import Testing

/// The actions of other processes while a process refreshes.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct MeanwhileTests {
    @Test(arguments: Store.chosen)
    func signsOutWhileAnotherProcessRefreshes(_ store: Store) async throws {
        let setup = try await SharedCacheSetup(store)
        let gate = TestGate()
        setup.provider.failNext(.token, with: .held(by: gate))
        let refresher = try await setup.worker()
        let leaver = try await setup.worker { $0.removes = true }
        refresher.go()
        try await setup.provider.waitForRequest(.token)
        leaver.go()
        #expect(try #require(try await leaver.report()).error == nil)
        gate.open()
        #expect(try #require(try await refresher.report()).error == "interaction_required.account_removed")
        #expect(try await setup.application().allAccounts().isEmpty)
    }

    @Test(arguments: Store.chosen)
    func keepsANewSignInFromTheAnswerToAnOldRefresh(_ store: Store) async throws {
        let setup = try await SharedCacheSetup(store)
        let gate = TestGate()
        setup.provider.failNext(.token, with: .held(by: gate))
        let refresher = try await setup.worker()
        refresher.go()
        try await setup.provider.waitForRequest(.token)
        let newer = try await setup.signIn(.alice)
        gate.open()
        let late = try #require(try await refresher.report())
        #expect(late.error != nil || late.token == newer.accessToken, "\(late)")
        #expect(try #require(try await setup.acquire()).token == newer.accessToken)
        #expect(try #require(try await setup.refresh()).error == nil)
    }

    @Test func refreshesTwoAccountsSideBySide() async throws {
        let setup = try await SharedCacheSetup(people: [.alice, .bob])
        let gate = TestGate()
        setup.provider.failNext(.token, with: .held(by: gate))
        let alice = try await setup.worker { $0.username = TestIdentityProvider.Person.alice.username }
        alice.go()
        try await setup.provider.waitForRequest(.token)
        // Alice's answer is held back; Bob's must not wait for it.
        let bob = try #require(
            try await setup.acquire { $0.username = TestIdentityProvider.Person.bob.username }
        )
        #expect(bob.error == nil && bob.source == "identityProvider")
        gate.open()
        #expect(try #require(try await alice.report()).error == nil)
    }

    @Test func refreshesAtTwoProvidersSideBySide() async throws {
        let storage = try Storage(.file)
        let setup = try await SharedCacheSetup(storage)
        let other = try await SharedCacheSetup(storage, group: setup.group)
        let gate = TestGate()
        setup.provider.failNext(.token, with: .held(by: gate))
        let first = try await setup.worker()
        first.go()
        try await setup.provider.waitForRequest(.token)
        let second = try #require(try await other.acquire())
        #expect(second.error == nil && second.source == "identityProvider")
        gate.open()
        #expect(try #require(try await first.report()).error == nil)
    }

    @Test(arguments: Store.chosen)
    func forcedAndOrdinaryRefreshesComeOneAfterTheOther(_ store: Store) async throws {
        let setup = try await SharedCacheSetup(store)
        let gate = TestGate()
        setup.provider.failNext(.token, with: .held(by: gate))
        let ordinary = try await setup.worker()
        let forced = try await setup.worker {
            $0.forces = true
            $0.tellsThatItWaits = true
        }
        ordinary.go()
        try await setup.provider.waitForRequest(.token)
        forced.go()
        try await forced.waiting()  // so that the answer it could join is that of an older refresh
        gate.open()
        let first = try #require(try await ordinary.report())
        let second = try #require(try await forced.report())
        #expect(first.error == nil && second.error == nil)
        #expect(second.source == "identityProvider" && second.token != first.token)
        let sent = setup.sentRefreshTokens
        #expect(sent.count == 2 && Set(sent).count == 2)
    }

    /// One refresh token serves several requests, so they wait for each other.
    @Test func refreshesForTwoAudiencesWithOneRefreshToken() async throws {
        let setup = try await SharedCacheSetup()
        setup.provider.failNext(.token, with: .delay(.milliseconds(50)))
        var workers: [WorkerProcess] = []
        for number in 0..<8 {
            workers.append(try await setup.worker { $0.scope = number % 2 == 0 ? "api.read" : "api.write" })
        }
        for worker in workers { worker.go() }
        for worker in workers { #expect(try #require(try await worker.report()).error == nil) }
        let sent = setup.sentRefreshTokens
        #expect(Set(sent).count == sent.count && (1...2).contains(sent.count))
        #expect(try #require(try await setup.refresh()).error == nil)
    }

    /// A program whose clock is wrong by a day neither loops nor signs out, and the others go on.
    @Test(arguments: [-86_400, 86_400])
    func bearsAClockThatIsADayWrong(_ offset: Double) async throws {
        let setup = try await SharedCacheSetup()
        for round in 0..<3 {
            let wrong = try #require(try await setup.acquire { $0.clockOffset = offset })
            #expect(wrong.error == nil, "\(wrong), round \(round)")
            let right = try #require(try await setup.acquire())
            #expect(right.error == nil, "\(right), round \(round)")
        }
        let sent = setup.sentRefreshTokens
        #expect(Set(sent).count == sent.count && sent.count <= 6)
    }

    @Test func bearsAClockThatIsADayWrongWhileOthersWait() async throws {
        let setup = try await SharedCacheSetup()
        setup.provider.failNext(.token, with: .delay(.milliseconds(200)))
        var workers = try await setup.workers(4)
        workers.append(try await setup.worker { $0.clockOffset = 86_400 })
        workers.append(try await setup.worker { $0.clockOffset = -86_400 })
        for worker in workers { worker.go() }
        for worker in workers { #expect(try #require(try await worker.report()).error == nil) }
        let sent = setup.sentRefreshTokens
        // None asks twice: what one of them wrote "in the future" may be worth nothing to the others.
        #expect(Set(sent).count == sent.count && sent.count <= 6)
    }
}
