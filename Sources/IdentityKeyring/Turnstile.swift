// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import GLibSupport
import Synchronization

/// Lets one task after the other through, in the order in which they came.
final class Turnstile: Sendable {
    private struct State {
        var isTaken = false
        var waiting: [Reply<Void>] = []
    }

    private let state = Mutex(State())

    /// Waits for the caller's turn; it lasts until `pass`.
    /// - Throws: `CancellationError`; then there is no turn.
    func enter() async throws {
        let reply: Reply<Void>? = state.withLock { state in
            guard state.isTaken else {
                state.isTaken = true
                return nil
            }
            let reply = Reply<Void>()
            state.waiting.append(reply)
            return reply
        }
        try await reply?.value()
    }

    /// Ends the turn.
    func pass() {
        while true {
            let next: Reply<Void>? = state.withLock { state in
                guard !state.waiting.isEmpty else {
                    state.isTaken = false
                    return nil
                }
                return state.waiting.removeFirst()
            }
            guard let next else { return }
            // Whoever was cancelled takes no turn.
            if next.settle(.success(())) { return }
        }
    }
}
