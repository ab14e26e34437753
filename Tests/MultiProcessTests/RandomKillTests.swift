// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient
import IdentityTesting
import Testing

/// Deaths at points that nobody chose.
@Suite(.serialized, .timeLimit(.minutes(30)))
struct RandomKillTests {
    /// The provider answers a refresh token once more, as real ones do for a while: so every death must be survived.
    @Test(arguments: Store.chosen)
    func survivesSIGKILLAtAnyMoment(_ store: Store) async throws {
        let house = try await Household(store, grace: .seconds(30))
        #expect(try #require(try await house.acquire()).error == nil)
        var (killed, longest) = (0, 0.0)
        for round in 0..<Repetitions.kills {
            let victim = try await house.worker { $0.forces = true }
            let next = try await house.worker { $0.forces = true }
            let moment = Duration.microseconds(Int.random(in: 0...20_000))
            victim.go()
            try await Task.sleep(for: moment)  // the moment is what is tried
            victim.terminate()
            if try await victim.end() == SIGKILL { killed += 1 }
            let acknowledged = try await victim.report()
            let cached = try #require(try await house.acquire())
            #expect(cached.error == nil, "round \(round), after \(moment): \(cached)")
            if let acknowledged {
                #expect(cached.token == acknowledged.token, "round \(round), after \(moment): what was told is there")
            }
            next.go()
            let report = try #require(try await next.report())
            #expect(report.error == nil, "round \(round), after \(moment): \(report)")
            longest = max(longest, report.milliseconds)
        }
        print("KILLS \(store) \(killed) of \(Repetitions.kills) died; the next one took at most \(Int(longest)) ms")
        fflush(nil)
        #expect(killed > 0)
    }
}
