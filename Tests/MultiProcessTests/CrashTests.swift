// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient
import IdentityTesting
import Testing

/// A process that is killed at any step leaves nothing that hurts the next one.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct CrashTests {
    /// Where the refresh token that is stored is still the one that counts: nothing was sent, or all was written.
    @Test(arguments: Store.chosen, ["before-lease", "after-lease", "before-request", "after-write", "before-release"])
    func signsTheNextProcessInAfterADeath(_ store: Store, _ point: String) async throws {
        let house = try await Household(store)
        let victim = try await house.worker { $0.crash = point }
        let next = try await house.worker()
        victim.go()
        #expect(try await victim.end() == SIGKILL)
        next.go()
        let report = try #require(try await next.report())
        #expect(report.error == nil && report.token != nil, "\(report)")
        #expect(house.sentRefreshTokens.count == 1)
        let again = try #require(try await house.refresh())
        #expect(again.error == nil, "The family is alive: \(again)")
        print("DEATH \(store) \(point): the next process took \(Int(report.milliseconds)) ms")
        #expect(report.milliseconds < (Repetitions.isQuiet ? 100 : 5000))
    }

    /// Where the new refresh token died with the process: a provider without grace ends the sign-in, and the next
    /// process says so.
    @Test(arguments: Store.chosen, ["after-answer", "before-write"])
    func saysThatTheSignInIsOverWhenTheAnswerWasLost(_ store: Store, _ point: String) async throws {
        let house = try await Household(store)
        let victim = try await house.worker { $0.crash = point }
        victim.go()
        #expect(try await victim.end() == SIGKILL)
        let report = try #require(try await house.acquire())
        #expect(report.error?.hasPrefix("interaction_required") == true, "\(report)")
        try await house.signIn(.alice)
        #expect(try #require(try await house.refresh()).error == nil)
    }

    /// The same, where the provider answers the old refresh token once more for a while.
    @Test(arguments: Store.chosen, ["after-answer", "before-write"])
    func recoversALostAnswerWithinTheGracePeriod(_ store: Store, _ point: String) async throws {
        let house = try await Household(store, grace: .seconds(30))
        let victim = try await house.worker { $0.crash = point }
        victim.go()
        #expect(try await victim.end() == SIGKILL)
        let report = try #require(try await house.acquire())
        #expect(report.error == nil && report.source == "identityProvider", "\(report)")
        #expect(try #require(try await house.refresh()).error == nil)
    }

    @Test(arguments: Store.chosen, [0, 100, 300, 600, 1000, 2000, 4000])
    func opensTheCacheAfterADeathInTheMiddleOfAWrite(_ store: Store, _ microseconds: Int) async throws {
        let house = try await Household(store, grace: .seconds(30))
        let victim = try await house.worker { $0.crash = "during-write:\(microseconds)" }
        victim.go()
        // A write may be quicker than the death: then there is a report, and the token in it has to be there.
        let first = try await victim.report()
        if first == nil { #expect(try await victim.end() == SIGKILL) }
        let report = try #require(try await house.acquire())
        #expect(report.error == nil, "\(report)")
        if let token = first?.token { #expect(report.token == token) }
        #expect(try #require(try await house.refresh()).error == nil)
    }

    /// Nineteen wait for one that dies; one of them takes its place at once.
    @Test(arguments: Store.chosen)
    func takesOverFromADeadHolderWhileOthersWait(_ store: Store) async throws {
        let house = try await Household(store)
        let gate = Gate()
        house.provider.failNext(.token, with: .held(by: gate, then: .drop))
        let victim = try await house.worker()
        let others = try await house.workers(9)
        victim.go()
        try await house.provider.waitForRequest(.token)
        for other in others { other.go() }
        victim.terminate()
        try await victim.end()
        var slowest = 0.0
        for other in others {
            let report = try #require(try await other.report())
            #expect(report.error == nil, "\(report)")
            slowest = max(slowest, report.milliseconds)
        }
        gate.open()
        print("DEATH \(store) with nine waiting: the slowest took \(Int(slowest)) ms")
        #expect(slowest < 5000)
        #expect(house.sentRefreshTokens.count == 2)
        #expect(try #require(try await house.refresh()).error == nil)
    }
}
