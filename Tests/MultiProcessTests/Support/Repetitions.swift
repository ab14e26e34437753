// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation

/// How often what depends on chance is tried: a few times, or as `Scripts/soak` says.
enum Repetitions {
    /// Rounds with twenty processes.
    static let count = number("IDENTITY_SOAK_REPETITIONS") ?? 3
    /// Deaths at random points.
    static let kills = number("IDENTITY_SOAK_KILLS") ?? 20
    /// Whether the machine has nothing else to do, so that times may be insisted on.
    static let isQuiet = number("IDENTITY_SOAK_QUIET") == 1
    /// Whether there is time for the large explorations.
    static let isSoak = number("IDENTITY_SOAK_DEEP") == 1

    private static func number(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap(Int.init)
    }
}
