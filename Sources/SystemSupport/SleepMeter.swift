// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Measures how long the computer has slept since the meter's creation.
///
/// On Linux, `ContinuousClock` runs while the computer is suspended (`CLOCK_BOOTTIME`), and `SuspendingClock` stops
/// (`CLOCK_MONOTONIC`): their difference is the time asleep.
package struct SleepMeter: Sendable {
    private let continuous = ContinuousClock.now
    private let suspending = SuspendingClock.now

    package init() {}

    package var timeAsleep: Duration {
        (ContinuousClock.now - continuous) - (SuspendingClock.now - suspending)
    }
}

extension Duration {
    package var milliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}
