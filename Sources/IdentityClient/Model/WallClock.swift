// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import OAuthWire

/// Tells the time, and waits. Token lifetimes are wall time; a test's clock stands still until the test moves it.
///
/// ```swift
/// configuration.clock = ManualClock()  // of IdentityTesting
/// ```
public protocol WallClock: Sendable {
    /// The current time.
    var now: Date { get }

    /// Waits at least this long, by this clock.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    func sleep(for duration: Duration) async throws
}

/// The computer's clock.
///
/// ```swift
/// configuration.clock = SystemClock()  // the default
/// ```
public struct SystemClock: WallClock {
    /// Creates the clock; it has no state.
    public init() {}

    /// The computer's time.
    public var now: Date { Date.now }

    /// Waits at least this long.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    public func sleep(for duration: Duration) async throws {
        try await Task.sleep(for: duration)
    }
}

extension WallClock {
    /// Whole seconds since 1970, rounded down.
    package var unixSeconds: Int64 {
        Int64(now.timeIntervalSince1970.rounded(.down))
    }
}

extension Date {
    /// The time as ISO 8601 in UTC, to the second: `2026-11-21T12:13:50Z`. Times outside the years 1600 to 9999, or not
    /// a number, become the nearest of them.
    package var utcText: String {
        let seconds = max(-11_676_096_000, min(Double(UnixSeconds.last), timeIntervalSince1970.rounded(.down)))
        return Date(timeIntervalSince1970: seconds).ISO8601Format()
    }
}
