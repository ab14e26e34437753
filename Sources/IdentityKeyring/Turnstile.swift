// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Synchronization

/// Lets so many tasks through at a time, in the order in which they came.
final class Turnstile: Sendable {
    private struct State {
        var free: Int
        var waiting: [Promise<Void>] = []
    }

    private let state: Mutex<State>

    /// - Parameter width: How many have a turn at the same time.
    init(width: Int = 1) {
        state = Mutex(State(free: width))
    }

    /// Waits for the caller's turn; it lasts until `pass`.
    /// - Throws: `CancellationError`; then there is no turn.
    func enter() async throws {
        let turn: Promise<Void>? = state.withLock { state in
            guard state.free == 0 else {
                state.free -= 1
                return nil
            }
            let turn = Promise<Void>()
            state.waiting.append(turn)
            return turn
        }
        do {
            try await turn?.value()
        } catch {
            // A turn that came at the same time goes to the next one.
            if turn?.finish(.failure(error)) == false { pass() }
            throw error
        }
    }

    /// Ends the turn.
    func pass() {
        while true {
            let next: Promise<Void>? = state.withLock { state in
                guard !state.waiting.isEmpty else {
                    state.free += 1
                    return nil
                }
                return state.waiting.removeFirst()
            }
            guard let next else { return }
            // Whoever was cancelled takes no turn.
            if next.finish(.success(())) { return }
        }
    }
}
