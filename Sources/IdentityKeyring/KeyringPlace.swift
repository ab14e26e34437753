// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Synchronization

/// Where the locks and the leases are.
final class KeyringPlace: Sendable {
    private struct Parts {
        let locks: SharedLocks
        let leases: FileTokenCache
    }

    private let settings: KeyringSettings
    private let parts = Mutex<Parts?>(nil)

    init(_ settings: KeyringSettings) {
        self.settings = settings
    }

    func locks() throws -> SharedLocks { try made().locks }
    func leases() throws -> FileTokenCache { try made().leases }

    private func made() throws -> Parts {
        try parts.withLock { parts in
            if let parts { return parts }
            let root = try settings.directory ?? RuntimeDirectory.path()
            let new = Parts(
                locks: SharedLocks(directory: "\(root)/keyring", timeout: settings.lockTimeout),
                leases: FileTokenCache(directory: "\(root)/leases")
            )
            parts = new
            return new
        }
    }
}

/// A turnstile and how many use it; it goes when nobody does.
struct TurnInUse {
    let turnstile: Turnstile
    var users: Int
}

extension KeyringTokenCache {
    /// Does `work` when no other task of this object writes to `key`.
    func inTurn<Value: Sendable>(_ key: CacheKey, _ work: () async throws -> Value) async throws -> Value {
        let turnstile = turns.withLock { turns in
            var turn = turns[key] ?? TurnInUse(turnstile: Turnstile(), users: 0)
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
