// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Runs `work` for at most `duration` of real time.
///
/// The caller is released at the deadline and on cancellation even where `work` does not heed its own cancellation.
/// - Throws: What `work` throws, `CancellationError`, or `DeadlineExceeded`.
package func withDeadline<Value: Sendable>(
    _ duration: Duration,
    _ work: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    let result = Promise<Value>()
    let worker = Task { await result.finish(by: work) }
    // It does nothing but wait: no other thread is woken for that.
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
