// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

#if WebView
import Synchronization

/// A result and the task that waits for it. The first result counts.
final class Reply<Value: Sendable>: Sendable {
    private struct State {
        var result: Result<Value, any Error>?
        var waiter: CheckedContinuation<Value, any Error>?
    }

    private let state = Mutex(State())

    func settle(_ result: Result<Value, any Error>) {
        let waiter = state.withLock { state -> CheckedContinuation<Value, any Error>? in
            guard state.result == nil else { return nil }
            state.result = result
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(with: result)
    }

    /// Waits for the result. Call this once.
    ///
    /// - Throws: The error with which the reply was settled. `CancellationError`, with which the reply is then settled.
    func value() async throws -> Value {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                let result = state.withLock { state in
                    if state.result == nil { state.waiter = waiter }
                    return state.result
                }
                if let result { waiter.resume(with: result) }
            }
        } onCancel: {
            settle(.failure(CancellationError()))
        }
    }
}
#endif
