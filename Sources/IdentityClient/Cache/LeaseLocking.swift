// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A cache that can lock a lease for as long as its holder lives. The kernel releases the lock when the holder's process
/// ends, in whatever way.
///
/// A cache around another cache passes both calls on. All keys are of the kind `lease`.
package protocol LeaseLocking: TokenCache {
    /// Stores a lease if the stored record is still `expected`. The lease is locked before another process can read it.
    ///
    /// - Parameter lease: Makes the lease. It gets whether the lease will be locked, which the lease tells its readers.
    /// - Returns: `nil` if another writer was first.
    func lockLease(
        over expected: CacheRecord?,
        with lease: @escaping @Sendable (_ isLocked: Bool) -> CacheRecord,
        for key: CacheKey
    ) async throws -> StoredLease?

    /// Returns whether the lock of `lease`, which was stored with a lock, is held; `nil` if this process cannot know. A
    /// lease that is not stored any more is held by no process.
    func isLeaseLocked(_ lease: CacheRecord, for key: CacheKey) async throws -> Bool?
}

/// A lease as it was stored, and its lock; `nil` if it has none.
package struct StoredLease: Sendable {
    package let record: CacheRecord
    package let lock: LeaseLock?

    package init(_ record: CacheRecord, lock: LeaseLock?) {
        self.record = record
        self.lock = lock
    }
}

/// The lock of a stored lease. It ends with ``end()``, with this object or with the process.
package final class LeaseLock: Sendable {
    private let file: Mutex<Descriptor?>

    init(_ file: consuming Descriptor) {
        self.file = Mutex(file)
    }

    deinit {
        end()
    }

    /// Releases the lock, also for a child process that was forked under it.
    package func end() {
        file.withLock { file in
            file?.unlock()
            file = nil
        }
    }
}

extension TokenCache {
    /// Stores a lease as ``LeaseLocking/lockLease(over:with:for:)`` does, without a lock if this cache has none.
    package func storeLease(
        over expected: CacheRecord?,
        with lease: @escaping @Sendable (_ isLocked: Bool) -> CacheRecord,
        for key: CacheKey
    ) async throws -> StoredLease? {
        if let cache = self as? any LeaseLocking {
            return try await cache.lockLease(over: expected, with: lease, for: key)
        }
        let record = lease(false)
        return try await replace(expected, with: record, for: key) ? StoredLease(record, lock: nil) : nil
    }

    /// Returns what ``LeaseLocking/isLeaseLocked(_:for:)`` does; `nil` if this cache has no locks.
    package func findLeaseLock(_ lease: CacheRecord, for key: CacheKey) async throws -> Bool? {
        try await (self as? any LeaseLocking)?.isLeaseLocked(lease, for: key)
    }
}
