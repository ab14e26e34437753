// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation

/// The number of repetitions of tests that depend on chance: a few, or the number set by `Scripts/soak`.
enum Repetitions {
    /// The number of rounds with twenty processes.
    static let count = number("IDENTITY_SOAK_REPETITIONS") ?? 3
    /// The number of deaths at random points.
    static let kills = number("IDENTITY_SOAK_KILLS") ?? 20
    /// The number of processes that stand still in their request, side by side.
    static let stops = number("IDENTITY_SOAK_STOPS") ?? 10
    /// Whether the machine has no other work, so that tests may enforce time limits.
    static let isQuiet = number("IDENTITY_SOAK_QUIET") == 1
    /// Whether there is time for the large explorations.
    static let isSoak = number("IDENTITY_SOAK_DEEP") == 1

    private static func number(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap(Int.init)
    }
}
