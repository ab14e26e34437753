// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Synchronization

/// A mutex for each record that a task writes to. Tasks of one process queue here instead of at a file lock.
final class KeyedMutex: Sendable {
    /// A semaphore and the number of its users. It is removed with its last user.
    private struct Entry {
        let semaphore: AsyncSemaphore
        var users: Int
    }

    private let entries = Mutex<[CacheKey: Entry]>([:])

    /// Does `work` when no other task writes to `key`.
    /// - Throws: The errors of `work`; `CancellationError`.
    func withLock<Value: Sendable>(_ key: CacheKey, _ work: () async throws -> Value) async throws -> Value {
        let semaphore = entries.withLock { entries in
            var entry = entries[key] ?? Entry(semaphore: AsyncSemaphore(), users: 0)
            entry.users += 1
            entries[key] = entry
            return entry.semaphore
        }
        defer {
            entries.withLock { entries in
                entries[key]?.users -= 1
                if entries[key]?.users == 0 { entries[key] = nil }
            }
        }
        try await semaphore.wait()
        defer { semaphore.signal() }
        return try await work()
    }
}
