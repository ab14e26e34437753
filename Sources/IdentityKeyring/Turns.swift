// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Synchronization

/// A turnstile for each record that a task writes to. Tasks of one process queue here instead of at a file lock.
final class Turns: Sendable {
    /// A turnstile and the number of its users. It is removed with its last user.
    private struct Turn {
        let turnstile: Turnstile
        var users: Int
    }

    private let turns = Mutex<[CacheKey: Turn]>([:])

    /// Does `work` when no other task writes to `key`.
    /// - Throws: The errors of `work`; `CancellationError`.
    func take<Value: Sendable>(_ key: CacheKey, _ work: () async throws -> Value) async throws -> Value {
        let turnstile = turns.withLock { turns in
            var turn = turns[key] ?? Turn(turnstile: Turnstile(), users: 0)
            turn.users += 1
            turns[key] = turn
            return turn.turnstile
        }
        defer {
            turns.withLock { turns in
                turns[key]?.users -= 1
                if turns[key]?.users == 0 { turns[key] = nil }
            }
        }
        try await turnstile.enter()
        defer { turnstile.pass() }
        return try await work()
    }
}
