// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import Synchronization

/// One outcome for many waiting tasks. A cancelled waiter stops waiting; the others and the work go on.
///
/// It is inlinable, because otherwise each wait of another module looks for generic types at run time.
@usableFromInline
package final class Promise<Value: Sendable>: Sendable {
    @usableFromInline
    struct State {
        @usableFromInline var outcome: Result<Value, any Error>?
        @usableFromInline var waiters: [UInt64: CheckedContinuation<Value, any Error>] = [:]
        @usableFromInline var cancelled: Set<UInt64> = []
        @usableFromInline var nextID: UInt64 = 0

        @inlinable init() {}
    }

    @usableFromInline let state: Mutex<State>

    @inlinable
    package init() {
        state = Mutex(State())
    }

    /// The outcome, as soon as there is one.
    ///
    /// - Throws: The error of the work, or `CancellationError` if the waiting task was cancelled.
    @inlinable
    package func value() async throws -> Value {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome: Result<Value, any Error>? = state.withLock { state in
                    if state.cancelled.remove(id) != nil { return .failure(CancellationError()) }
                    if state.outcome == nil { state.waiters[id] = continuation }
                    return state.outcome
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                let waiter = state.waiters.removeValue(forKey: id)
                if waiter == nil, state.outcome == nil { state.cancelled.insert(id) }
                return waiter
            }
            waiter?.resume(throwing: CancellationError())
        }
    }

    /// Ends all waits with the outcome of `work`.
    @inlinable
    package func finish(by work: () async throws -> Value) async {
        do { finish(.success(try await work())) } catch { finish(.failure(error)) }
    }

    /// Ends all waits. Only the first outcome counts.
    /// - Returns: Whether this was the first.
    @inlinable
    @discardableResult
    package func finish(_ outcome: Result<Value, any Error>) -> Bool {
        let waiters = state.withLock { state -> [CheckedContinuation<Value, any Error>]? in
            guard state.outcome == nil else { return nil }
            state.outcome = outcome
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters ?? [] { waiter.resume(with: outcome) }
        return waiters != nil
    }
}

/// Runs `work` to its end in a separate task. A cancelled caller stops waiting, and the work goes on.
///
/// - Throws: The error of `work`, or `CancellationError`.
@inlinable
package func regardlessOfCancellation<Value: Sendable>(
    _ work: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    let result = Promise<Value>()
    Task { await result.finish(by: work) }
    return try await result.value()
}

/// Runs `work` for at most `duration`, in which the time that the computer sleeps does not count.
///
/// The caller resumes at the deadline and on cancellation, even if `work` ignores its own cancellation. After SIGSTOP or in a
/// paused container the timer may be over before `work` has read what came meanwhile. So the last half of the time, three
/// seconds at most, begins only when the process runs, and after a late timer once more.
/// - Throws: The error of `work`, `CancellationError`, or `DeadlineExceeded`.
@inlinable
package func withDeadline<Value: Sendable>(
    _ duration: Duration,
    _ work: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    let result = Promise<Value>()
    let worker = Task { await result.finish(by: work) }
    // The task only waits, so that no other thread needs to wake. An answer that came before a sleep is not thrown away.
    let timer = Task.immediate {
        let last = min(max(duration, .zero) / 2, .seconds(3))
        var (pause, isLast) = (max(duration, .zero) - last, false)
        while true {
            let end = SuspendingClock.now + pause
            try await Task.sleep(until: end, clock: .suspending)
            let isLate = SuspendingClock.now - end > .milliseconds(100)
            if isLast, !isLate { break }
            (pause, isLast) = (isLate ? .seconds(3) : last, true)
        }
        result.finish(.failure(DeadlineExceeded()))
    }
    defer {
        worker.cancel()
        timer.cancel()
    }
    return try await result.value()
}

/// The time was up.
@usableFromInline
package struct DeadlineExceeded: Error {
    @inlinable package init() {}
}

extension Error {
    /// Whether the current task was cancelled, and this error says so. Other code may throw a `CancellationError` for
    /// reasons of its own, which must not look like the caller's wish.
    package var isOfACancelledTask: Bool { self is CancellationError && Task.isCancelled }
}
