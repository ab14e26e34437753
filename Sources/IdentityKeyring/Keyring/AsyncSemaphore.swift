// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Synchronization
import SystemSupport

/// A semaphore for tasks. A waiting task blocks no thread, and the first task to wait has the first turn.
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

    /// Waits for the caller's turn, which lasts until `signal`.
    /// - Throws: `CancellationError`; then the caller has no turn.
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
            // If the turn came at the same time as the cancellation, it goes to the next task.
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
