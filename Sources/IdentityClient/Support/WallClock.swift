// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

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
