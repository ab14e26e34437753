// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import IdentityClient
import Synchronization
import SystemSupport

/// A clock that stands still until a test moves it. Sleeping on it takes no real time.
///
/// ```swift
/// let clock = ManualClock()
/// configuration.clock = clock
/// clock.advance(by: .seconds(3600))
/// ```
public final class ManualClock: WallClock {
    private struct Sleeper {
        var wakesAt: Date
        var promise: Promise<Void>
    }

    private struct Waiter {
        var count: Int
        var promise: Promise<Void>
    }

    private struct State {
        var now: Date
        var sleepers: [Int: Sleeper] = [:]
        var waiters: [Waiter] = []
        var count = 0
    }

    private let state: Mutex<State>

    /// Creates a clock that shows `now`; the default is a whole second in the past.
    public init(now: Date = Date(timeIntervalSince1970: 1_750_000_000)) {
        state = Mutex(State(now: now))
    }

    /// The time the clock shows.
    public var now: Date { state.withLock { $0.now } }

    /// The number of tasks that sleep on this clock now.
    public var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    /// Moves the clock and wakes the tasks whose time has come, earliest first. A negative duration moves the clock
    /// back.
    public func advance(by duration: Duration) {
        let woken = state.withLock { state in
            state.now.addTimeInterval(duration.timeInterval)
            let due = state.sleepers.filter { $0.value.wakesAt <= state.now }
            for id in due.keys { state.sleepers[id] = nil }
            return due.values.sorted { $0.wakesAt < $1.wakesAt }
        }
        for sleeper in woken { sleeper.promise.fulfil() }
    }

    /// Waits until the clock has moved by `duration`.
    ///
    /// - Throws: `CancellationError` if the task is cancelled.
    public func sleep(for duration: Duration) async throws {
        try Task.checkCancellation()
        guard duration > .zero else { return }
        let promise = Promise<Void>()
        let (id, waiters) = state.withLock { state in
            state.count += 1
            let wakesAt = state.now.addingTimeInterval(duration.timeInterval)
            state.sleepers[state.count] = Sleeper(wakesAt: wakesAt, promise: promise)
            let ready = state.waiters.filter { $0.count <= state.sleepers.count }
            state.waiters.removeAll { $0.count <= state.sleepers.count }
            return (state.count, ready)
        }
        for waiter in waiters { waiter.promise.fulfil() }
        defer { state.withLock { $0.sleepers[id] = nil } }
        try await promise.value()
    }

    /// Waits until `count` tasks sleep on this clock, so that moving it wakes them.
    ///
    /// - Parameters:
    ///   - count: The number of tasks.
    ///   - timeout: The limit in real time; ten seconds by default.
    /// - Throws: ``WaitTimedOut`` if fewer tasks sleep when the time is up; `CancellationError`.
    public func waitForSleepers(_ count: Int = 1, timeout: Duration = .seconds(10)) async throws {
        let promise = Promise<Void>()
        let isReady = state.withLock { state in
            if state.sleepers.count >= count { return true }
            state.waiters.append(Waiter(count: count, promise: promise))
            return false
        }
        if isReady { return }
        try await promise.value(
            within: timeout,
            for: count == 1 ? "A sleep on the clock" : "\(count) sleeps on the clock at a time"
        )
    }
}

extension Duration {
    var timeInterval: TimeInterval {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
