// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Runs `work` for at most `duration` of real time.
///
/// The caller resumes at the deadline and on cancellation, even if `work` ignores its own cancellation.
/// - Throws: The error of `work`, `CancellationError`, or `DeadlineExceeded`.
package func withDeadline<Value: Sendable>(
    _ duration: Duration,
    _ work: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    let result = Promise<Value>()
    let worker = Task { await result.finish(by: work) }
    // The task only waits, so that no other thread needs to wake.
    let timer = Task.immediate {
        try await Task.sleep(for: duration)
        result.finish(.failure(DeadlineExceeded()))
    }
    defer {
        worker.cancel()
        timer.cancel()
    }
    return try await result.value()
}

/// The time was up.
package struct DeadlineExceeded: Error {}

extension Error {
    /// Whether the current task was cancelled, and this error says so. Other code may throw a `CancellationError` for
    /// reasons of its own, which must not look like the caller's wish.
    package var isOfACancelledTask: Bool { self is CancellationError && Task.isCancelled }
}
