// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTesting
import Testing

/// The actions of other processes while a process refreshes.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct MeanwhileTests {
    @Test(arguments: Store.chosen)
    func signsOutWhileAnotherProcessRefreshes(_ store: Store) async throws {
        let house = try await Household(store)
        let gate = Gate()
        house.provider.failNext(.token, with: .held(by: gate))
        let refresher = try await house.worker()
        let leaver = try await house.worker { $0.removes = true }
        refresher.go()
        try await house.provider.waitForRequest(.token)
        leaver.go()
        #expect(try #require(try await leaver.report()).error == nil)
        gate.open()
        #expect(try #require(try await refresher.report()).error == "interaction_required.account_removed")
        #expect(try await house.application().allAccounts().isEmpty)
    }

    @Test(arguments: Store.chosen)
    func keepsANewSignInFromTheAnswerToAnOldRefresh(_ store: Store) async throws {
        let house = try await Household(store)
        let gate = Gate()
        house.provider.failNext(.token, with: .held(by: gate))
        let refresher = try await house.worker()
        refresher.go()
        try await house.provider.waitForRequest(.token)
        let newer = try await house.signIn(.alice)
        gate.open()
        let late = try #require(try await refresher.report())
        #expect(late.error != nil || late.token == newer.accessToken, "\(late)")
        #expect(try #require(try await house.acquire()).token == newer.accessToken)
        #expect(try #require(try await house.refresh()).error == nil)
    }

    @Test func refreshesTwoAccountsSideBySide() async throws {
        let house = try await Household(people: [.alice, .bob])
        let gate = Gate()
        house.provider.failNext(.token, with: .held(by: gate))
        let alice = try await house.worker { $0.username = TestIdentityProvider.Person.alice.username }
        alice.go()
        try await house.provider.waitForRequest(.token)
        // Alice's answer is held back; Bob's must not wait for it.
        let bob = try #require(
            try await house.acquire { $0.username = TestIdentityProvider.Person.bob.username }
        )
        #expect(bob.error == nil && bob.source == "identityProvider")
        gate.open()
        #expect(try #require(try await alice.report()).error == nil)
    }

    @Test func refreshesAtTwoProvidersSideBySide() async throws {
        let storage = try Storage(.file)
        let house = try await Household(storage)
        let other = try await Household(storage, group: house.group)
        let gate = Gate()
        house.provider.failNext(.token, with: .held(by: gate))
        let first = try await house.worker()
        first.go()
        try await house.provider.waitForRequest(.token)
        let second = try #require(try await other.acquire())
        #expect(second.error == nil && second.source == "identityProvider")
        gate.open()
        #expect(try #require(try await first.report()).error == nil)
    }

    @Test(arguments: Store.chosen)
    func forcedAndOrdinaryRefreshesComeOneAfterTheOther(_ store: Store) async throws {
        let house = try await Household(store)
        let gate = Gate()
        house.provider.failNext(.token, with: .held(by: gate))
        let ordinary = try await house.worker()
        let forced = try await house.worker {
            $0.forces = true
            $0.tellsThatItWaits = true
        }
        ordinary.go()
        try await house.provider.waitForRequest(.token)
        forced.go()
        try await forced.waiting()  // so that the answer it could join is that of an older refresh
        gate.open()
        let first = try #require(try await ordinary.report())
        let second = try #require(try await forced.report())
        #expect(first.error == nil && second.error == nil)
        #expect(second.source == "identityProvider" && second.token != first.token)
        let sent = house.sentRefreshTokens
        #expect(sent.count == 2 && Set(sent).count == 2)
    }

    /// One refresh token serves several requests, so they wait for each other.
    @Test func refreshesForTwoAudiencesWithOneRefreshToken() async throws {
        let house = try await Household()
        house.provider.failNext(.token, with: .delay(.milliseconds(50)))
        var workers: [WorkerProcess] = []
        for number in 0..<8 {
            workers.append(try await house.worker { $0.scope = number % 2 == 0 ? "api.read" : "api.write" })
        }
        for worker in workers { worker.go() }
        for worker in workers { #expect(try #require(try await worker.report()).error == nil) }
        let sent = house.sentRefreshTokens
        #expect(Set(sent).count == sent.count && (1...2).contains(sent.count))
        #expect(try #require(try await house.refresh()).error == nil)
    }

    /// A program whose clock is wrong by a day neither loops nor signs out, and the others go on.
    @Test(arguments: [-86_400, 86_400])
    func bearsAClockThatIsADayWrong(_ offset: Double) async throws {
        let house = try await Household()
        for round in 0..<3 {
            let wrong = try #require(try await house.acquire { $0.clockOffset = offset })
            #expect(wrong.error == nil, "\(wrong), round \(round)")
            let right = try #require(try await house.acquire())
            #expect(right.error == nil, "\(right), round \(round)")
        }
        let sent = house.sentRefreshTokens
        #expect(Set(sent).count == sent.count && sent.count <= 6)
    }

    @Test func bearsAClockThatIsADayWrongWhileOthersWait() async throws {
        let house = try await Household()
        house.provider.failNext(.token, with: .delay(.milliseconds(200)))
        var workers = try await house.workers(4)
        workers.append(try await house.worker { $0.clockOffset = 86_400 })
        workers.append(try await house.worker { $0.clockOffset = -86_400 })
        for worker in workers { worker.go() }
        for worker in workers { #expect(try #require(try await worker.report()).error == nil) }
        let sent = house.sentRefreshTokens
        // No process asks twice. A token that one process stored "in the future" may be useless to the others.
        #expect(Set(sent).count == sent.count && sent.count <= 6)
    }
}
