// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityCacheTesting
import IdentityClient
import IdentityTesting
import Testing

/// A process killed at any step does no harm to the next process.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct CrashTests {
    /// Deaths after which the stored refresh token is still valid: no request was sent, or the answer was completely
    /// stored.
    @Test(arguments: Store.chosen, ["before-lease", "after-lease", "before-request", "after-write", "before-release"])
    func signsTheNextProcessInAfterADeath(_ store: Store, _ point: String) async throws {
        let setup = try await SharedCacheSetup(store)
        let victim = try await setup.worker { $0.crash = point }
        let next = try await setup.worker()
        victim.go()
        #expect(try await victim.end() == SIGKILL)
        next.go()
        let report = try #require(try await next.report())
        #expect(report.error == nil && report.token != nil, "\(report)")
        #expect(setup.sentRefreshTokens.count == 1)
        let again = try #require(try await setup.refresh())
        #expect(again.error == nil, "The family is alive: \(again)")
        print("DEATH \(store) \(point): the next process took \(Int(report.milliseconds)) ms")
        #expect(report.milliseconds < (Repetitions.isQuiet ? 100 : 5000))
    }

    /// Deaths with which the new refresh token is lost. A provider without a grace period ends the sign-in, and the
    /// next process reports that.
    @Test(arguments: Store.chosen, ["after-answer", "before-write"])
    func saysThatTheSignInIsOverWhenTheAnswerWasLost(_ store: Store, _ point: String) async throws {
        let setup = try await SharedCacheSetup(store)
        let victim = try await setup.worker { $0.crash = point }
        victim.go()
        #expect(try await victim.end() == SIGKILL)
        let report = try #require(try await setup.acquire())
        #expect(report.error?.hasPrefix("interaction_required") == true, "\(report)")
        try await setup.signIn(.alice)
        #expect(try #require(try await setup.refresh()).error == nil)
    }

    /// The same deaths at a provider that answers the old refresh token once more for a while.
    @Test(arguments: Store.chosen, ["after-answer", "before-write"])
    func recoversALostAnswerWithinTheGracePeriod(_ store: Store, _ point: String) async throws {
        let setup = try await SharedCacheSetup(store, grace: .seconds(30))
        let victim = try await setup.worker { $0.crash = point }
        victim.go()
        #expect(try await victim.end() == SIGKILL)
        let report = try #require(try await setup.acquire())
        #expect(report.error == nil && report.source == "identityProvider", "\(report)")
        #expect(try #require(try await setup.refresh()).error == nil)
    }

    @Test(arguments: Store.chosen, [0, 100, 300, 600, 1000, 2000, 4000])
    func opensTheCacheAfterADeathInTheMiddleOfAWrite(_ store: Store, _ microseconds: Int) async throws {
        let setup = try await SharedCacheSetup(store, grace: .seconds(30))
        let victim = try await setup.worker { $0.crash = "during-write:\(microseconds)" }
        victim.go()
        // The write can finish before the death. Then there is a report, and its token must be in the cache.
        let first = try await victim.report()
        if first == nil { #expect(try await victim.end() == SIGKILL) }
        let report = try #require(try await setup.acquire())
        #expect(report.error == nil, "\(report)")
        if let token = first?.token { #expect(report.token == token) }
        #expect(try #require(try await setup.refresh()).error == nil)
    }

    /// Nine processes wait for a process that dies in the middle of its request; one of the nine takes over at once.
    @Test(arguments: Store.chosen)
    func takesOverFromADeadHolderWhileOthersWait(_ store: Store) async throws {
        let setup = try await SharedCacheSetup(store)
        let gate = TestGate()
        setup.provider.failNext(.token, with: .held(by: gate, then: .drop))
        let victim = try await setup.worker()
        // None of them ends, which would take the others' time, before all have their token.
        let others = try await setup.workers(9) { ($0.tellsThatItWaits, $0.rounds) = (true, 2) }
        victim.go()
        try await setup.provider.waitForRequest(.token)
        for other in others { other.go() }
        for other in others { try await other.waiting() }
        #expect(setup.sentRefreshTokens.count == 1)
        let death = ContinuousClock.now
        victim.terminate()
        try await setup.provider.waitForRequest(.token, count: 2)
        let takeover = death.duration(to: .now) / .milliseconds(1)
        var waits: [Double] = []
        for other in others {
            let (report, time) = try #require(try await other.timedReport())
            #expect(report.error == nil, "\(report)")
            waits.append(death.duration(to: time) / .milliseconds(1))
        }
        #expect(try await victim.end() == SIGKILL)
        gate.open()
        waits.sort()
        print(
            """
            DEATH \(store) with nine waiting: the request of the one that took over came after \(Int(takeover)) ms, \
            the tokens after \(Int(waits[0])) to \(Int(waits[8])) ms
            """
        )
        #expect(takeover <= (Repetitions.isQuiet ? 100 : 5000))
        #expect(waits[8] < (Repetitions.isQuiet ? 200 : 5000))
        #expect(setup.sentRefreshTokens.count == 2)
        #expect(try #require(try await setup.refresh()).error == nil)
    }
}
