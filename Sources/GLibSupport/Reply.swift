// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The place where one task waits for one answer. A waiter that is cancelled stops waiting; whoever works on the answer
/// need not know, and may give it later or never.
package final class Reply<Value: Sendable>: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<Value, any Error>)
        case settled(Result<Value, any Error>)
    }

    private let state = Mutex(State.open)

    package init() {}

    /// The answer, as soon as there is one. To be called once.
    /// - Throws: What was given as a failure, or `CancellationError`.
    package func value() async throws -> Value {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let early: Result<Value, any Error>? = state.withLock { state in
                    guard case .settled(let result) = state else {
                        state = .awaited(continuation)
                        return nil
                    }
                    return result
                }
                if let early { continuation.resume(with: early) }
            }
        } onCancel: {
            settle(.failure(CancellationError()))
        }
    }

    /// Gives the answer. Only the first one counts.
    /// - Returns: Whether this was the first.
    @discardableResult
    package func settle(_ result: Result<Value, any Error>) -> Bool {
        let (isFirst, waiting) = state.withLock { state -> (Bool, CheckedContinuation<Value, any Error>?) in
            switch state {
            case .settled:
                return (false, nil)
            case .open:
                state = .settled(result)
                return (true, nil)
            case .awaited(let continuation):
                state = .settled(.failure(CancellationError()))
                return (true, continuation)
            }
        }
        waiting?.resume(with: result)
        return isFirst
    }
}
