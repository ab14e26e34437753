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

    /// Tells what this object has written.
    func tell(_ key: CacheKey) {
        let listeners = state.withLock { $0.listeners.values.filter { $0.group == key.group } }
        for listener in listeners { listener.continuation.yield(key) }
    }
}
