// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Synchronization

/// Who asked for hints before the store was open, and would miss what is written until it is.
final class EarlyHints: Sendable {
    private struct Listener {
        let group: CacheGroup
        let continuation: AsyncStream<CacheKey>.Continuation
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

    func remove(_ listener: Int) {
        state.withLock { _ = $0.listeners.removeValue(forKey: listener) }
    }

    /// Those who do not hear from the store yet.
    func listeners(for group: CacheGroup) -> [AsyncStream<CacheKey>.Continuation] {
        state.withLock { $0.listeners.values.filter { $0.group == group }.map(\.continuation) }
    }
}
