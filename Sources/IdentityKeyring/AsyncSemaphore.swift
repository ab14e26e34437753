// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Synchronization

/// A semaphore that tasks wait for without blocking a thread, in the order in which they came.
final class AsyncSemaphore: Sendable {
    private struct State {
        var free: Int
        var waiting: [Promise<Void>] = []
    }

    private let state: Mutex<State>

    /// - Parameter width: The number of tasks that have a turn at the same time.
    init(width: Int = 1) {
        state = Mutex(State(free: width))
    }

    /// Waits for the caller's turn; it lasts until `signal`.
    /// - Throws: `CancellationError`; then there is no turn.
    func wait() async throws {
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
            if turn?.finish(.failure(error)) == false { signal() }
            throw error
        }
    }

    /// Ends the turn.
    func signal() {
        while true {
            let next: Promise<Void>? = state.withLock { state in
                guard !state.waiting.isEmpty else {
                    state.free += 1
                    return nil
                }
                return state.waiting.removeFirst()
            }
            guard let next else { return }
            // A cancelled task takes no turn.
            if next.finish(.success(())) { return }
        }
    }
}
