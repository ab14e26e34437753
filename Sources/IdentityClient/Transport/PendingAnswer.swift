// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Synchronization

/// The place where one caller waits for one answer. Whoever settles it first decides; it never waits for the driver.
final class PendingAnswer: Sendable {
    struct Answer: Sendable {
        var response: HTTPResponse
        var body: [UInt8]
    }

    private enum State {
        case open
        case awaited(CheckedContinuation<Answer, any Error>)
        case settled(Result<Answer, any Error>)
    }

    private let state = Mutex(State.open)

    /// Waits until somebody settles it. To be called once.
    func value() async throws -> Answer {
        try await withCheckedThrowingContinuation { continuation in
            let early: Result<Answer, any Error>? = state.withLock { state in
                guard case .settled(let result) = state else {
                    state = .awaited(continuation)
                    return nil
                }
                return result
            }
            if let early { continuation.resume(with: early) }
        }
    }

    /// Gives the answer to the caller. `false` when it was settled before.
    @discardableResult
    func settle(_ result: Result<Answer, any Error>) -> Bool {
        let (isFirst, waiting) = state.withLock { state -> (Bool, CheckedContinuation<Answer, any Error>?) in
            switch state {
            case .open:
                state = .settled(result)
                return (true, nil)
            case .awaited(let continuation):
                state = .settled(.failure(CancellationError()))
                return (true, continuation)
            case .settled:
                return (false, nil)
            }
        }
        waiting?.resume(with: result)
        return isFirst
    }
}
