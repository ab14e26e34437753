// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Synchronization

/// The listeners that asked for hints. They would miss writes before the store is open, and would go on listening to
/// the old store after the tokens are moved.
final class HintListeners: Sendable {
    private struct Listener {
        let group: CacheGroup
        let continuation: AsyncStream<CacheKey>.Continuation
        /// Whether the store does not tell them yet.
        var isEarly = true
    }

    private struct State {
        var count = 0
        var listeners: [Int: Listener] = [:]
    }

    private let state = Mutex(State())

    func add(_ continuation: AsyncStream<CacheKey>.Continuation, for group: CacheGroup) -> Int {
        state.withLock { state in
            state.count += 1
            state.listeners[state.count] = Listener(group: group, continuation: continuation)
            return state.count
        }
    }

    /// Notes that the store tells them from now on.
    func hearsFromStore(_ listener: Int) {
        state.withLock { $0.listeners[listener]?.isEarly = false }
    }

    func remove(_ listener: Int) {
        state.withLock { _ = $0.listeners.removeValue(forKey: listener) }
    }

    /// Whether it was neither removed nor ended.
    func has(_ listener: Int) -> Bool {
        state.withLock { $0.listeners[listener] != nil }
    }

    /// Those who do not hear from the store yet.
    func early(in group: CacheGroup) -> [AsyncStream<CacheKey>.Continuation] {
        state.withLock { $0.listeners.values.filter { $0.isEarly && $0.group == group }.map(\.continuation) }
    }

    /// Ends the hints of a group: who goes on listening asks anew, and hears from the store that is in use then.
    func end(_ group: CacheGroup) {
        let ended = state.withLock { state in
            let ended = state.listeners.filter { $0.value.group == group }
            for listener in ended.keys { state.listeners[listener] = nil }
            return ended.values
        }
        for listener in ended { listener.continuation.finish() }
    }
}
