// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import GLibSupport
import Synchronization

/// Lets so many tasks through at a time, in the order in which they came.
final class Turnstile: Sendable {
    private struct State {
        var free: Int
        var waiting: [Reply<Void>] = []
    }

    private let state: Mutex<State>

    /// - Parameter width: How many have a turn at the same time.
    init(width: Int = 1) {
        state = Mutex(State(free: width))
    }

    /// Waits for the caller's turn; it lasts until `pass`.
    /// - Throws: `CancellationError`; then there is no turn.
    func enter() async throws {
        let reply: Reply<Void>? = state.withLock { state in
            guard state.free == 0 else {
                state.free -= 1
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
                    state.free += 1
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
