// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Tells how long the computer has slept since the meter was made.
///
/// On Linux `ContinuousClock` goes on while the computer is suspended (`CLOCK_BOOTTIME`), and `SuspendingClock` stands
/// still (`CLOCK_MONOTONIC`): by as much as the first has run ahead of the second, the computer slept.
struct SleepMeter: Sendable {
    private let continuous = ContinuousClock.now
    private let suspending = SuspendingClock.now

    var timeAsleep: Duration {
        (ContinuousClock.now - continuous) - (SuspendingClock.now - suspending)
    }
}
