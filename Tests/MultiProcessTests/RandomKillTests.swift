// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityCacheTesting
import IdentityTesting
import Testing

/// Deaths at random points.
@Suite(.serialized, .timeLimit(.minutes(30)))
struct RandomKillTests {
    @Test(arguments: Store.chosen)
    func survivesSIGKILLAtAnyMoment(_ store: Store) async throws {
        let result = try await RandomKills(Repetitions.kills, in: SharedCacheSetup(store, grace: .seconds(30)))
        print("KILLS \(store) \(result)")
        fflush(nil)
    }
}
