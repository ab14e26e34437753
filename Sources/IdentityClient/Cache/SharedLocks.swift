// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Locks between the processes of one user, for storage that cannot compare and replace by itself.
///
/// They are files in the user's runtime directory, sixteen for a group, and each holds a number that grows with every
/// change made under it: whoever remembers the number finds out for the price of one `pread` that nothing changed.
package final class SharedLocks: Sendable {
    private struct Stripe: Hashable {
        let group: CacheGroup
        let number: Int
    }

    private let directory: String
    private let timeout: Duration
    private let queue = QueueExecutor("identity-client.shared-locks", runsTogether: true)
    private let counters = Mutex<[Stripe: ChangeCounter]>([:])

    /// - Parameters:
    ///   - directory: Where the lock files are.
    ///   - timeout: How long a lock that another process has is waited for.
    package init(directory: String, timeout: Duration) {
        self.directory = directory
        self.timeout = timeout
    }

    /// Takes the lock that guards `key`, waiting for it without holding a thread.
    /// - Throws: `.cacheBusy` after the time-out, `.cachePermissions`, `.cache`, `CancellationError`.
    package func take(for key: CacheKey) async throws -> HeldLock {
        try await take(Stripe(group: key.group, number: try Self.stripe(of: key)))
    }

    private func take(_ stripe: Stripe) async throws -> HeldLock {
        let root = directory
        var wait = LockWait(timeout: timeout)
        while true {
            if let lock = try await queue.doing({ try Self.tryTake(stripe, in: root) }) { return lock }
            try await wait.again(for: "\(root)/\(stripe.group.name)/\(FileCacheName.lock(stripe.number))")
        }
    }

    /// Takes all locks of `group`, so that nobody changes anything in it.
    /// - Throws: As ``take(for:)``; then none is held.
    package func takeAll(in group: CacheGroup) async throws -> [HeldLock] {
        var locks: [HeldLock] = []
        for number in 0..<FileCacheName.stripes {
            // Those that were taken end with the array.
            locks.append(try await take(Stripe(group: group, number: number)))
        }
        return locks
    }

    /// The counter of the changes under the lock of `key`; opened when first asked for.
    package func counter(for key: CacheKey) async throws -> ChangeCounter {
        try await counter(Stripe(group: key.group, number: try Self.stripe(of: key)))
    }

    private func counter(_ stripe: Stripe) async throws -> ChangeCounter {
        if let counter = counters.withLock({ $0[stripe] }), counter.isCurrent { return counter }
        let root = directory
        let counter = try await queue.doing { try Self.openCounter(stripe, in: root) }
        counters.withLock { $0[stripe] = counter }
        return counter
    }

    /// The counters of all changes in `group`, with their numbers of now: what a whole listing rests on.
    package func counts(in group: CacheGroup) async throws -> ChangeCounts {
        var counts: [(ChangeCounter, UInt64)] = []
        for number in 0..<FileCacheName.stripes {
            let counter = try await counter(Stripe(group: group, number: number))
            counts.append((counter, counter.value))
        }
        return ChangeCounts(counts)
    }

    fileprivate static func stripe(of key: CacheKey) throws -> Int {
        FileCacheName.stripe(try FileCacheName.record(key))
    }

    private static func tryTake(_ stripe: Stripe, in root: String) throws -> HeldLock? {
        let directory = try open(stripe.group, in: root)
        guard let lock = try FileLock.take(stripe.number, in: directory) else { return nil }
        return HeldLock(lock)
    }

    private static func openCounter(_ stripe: Stripe, in root: String) throws -> ChangeCounter {
        let directory = try open(stripe.group, in: root)
        let file = try directory.lockFile(FileCacheName.lock(stripe.number))
        let status = try file.status()
        try SecureFile.check(status, path: file.path)
        return ChangeCounter(file)
    }

    private static func open(_ group: CacheGroup, in root: String) throws -> Descriptor {
        for _ in 0..<5 {
            if let directory = try SecureDirectory.open(root, group: group) { return directory }
            try SecureDirectory.create(root, group: group)
        }
        throw AuthenticationError(.cache, "\(root) is being removed again and again while it is in use.")
    }
}

/// The number that grows with every change under one of the ``SharedLocks``.
package final class ChangeCounter: Sendable {
    private let file: Descriptor

    init(_ file: consuming Descriptor) {
        self.file = file
    }

    /// The number of now: one `pread`.
    package var value: UInt64 {
        file.readCount() ?? 0
    }

    /// Whether the file is still the one that others use.
    var isCurrent: Bool {
        // A file that cannot be asked is no longer used.
        (try? file.status()).map { $0.links > 0 } ?? false
    }
}

/// What the counters of a group said at one time.
package struct ChangeCounts: Sendable {
    private let counts: [(counter: ChangeCounter, value: UInt64)]

    init(_ counts: [(ChangeCounter, UInt64)]) {
        self.counts = counts
    }

    /// The counter of the changes of `key`, which is of the group, and its number of then.
    package func count(for key: CacheKey) throws -> (counter: ChangeCounter, value: UInt64) {
        counts[try SharedLocks.stripe(of: key)]
    }

    /// Whether nothing was changed since: one `pread` for each counter.
    package var areCurrent: Bool {
        counts.allSatisfy { $0.counter.value == $0.value }
    }
}

/// One of the ``SharedLocks``, held until it is ended.
package final class HeldLock: Sendable {
    private let lock: Mutex<FileLock?>

    init(_ lock: consuming FileLock) {
        self.lock = Mutex(lock)
    }

    /// Tells the watchers that something may have changed.
    package func announce() {
        // A number that cannot be written is not read either: then the storage's own signals tell of the change.
        lock.withLock { try? $0?.count() }
    }

    /// Lets go of the lock.
    package func end() {
        lock.withLock { $0 = nil }
    }
}
