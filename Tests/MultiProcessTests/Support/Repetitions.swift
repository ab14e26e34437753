// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation

/// How often what depends on chance is tried: a few times, or as `IDENTITY_SOAK_REPETITIONS` says.
enum Repetitions {
    static let count = ProcessInfo.processInfo.environment["IDENTITY_SOAK_REPETITIONS"].flatMap(Int.init) ?? 3
}
