// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Measures how long the computer has slept since the meter's creation.
///
/// On Linux, `ContinuousClock` runs while the computer is suspended (`CLOCK_BOOTTIME`), and `SuspendingClock` stops
/// (`CLOCK_MONOTONIC`): their difference is the time asleep.
struct SleepMeter: Sendable {
    private let continuous = ContinuousClock.now
    private let suspending = SuspendingClock.now

    var timeAsleep: Duration {
        (ContinuousClock.now - continuous) - (SuspendingClock.now - suspending)
    }
}
