// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Locks between the processes of one user, for storage that has no compare-and-replace of its own.
///
/// The locks are files in the user's runtime directory, sixteen for a group. The length of each file is a number that
/// grows with every change made under its lock: a process that remembers the number learns with one `fstat` that
/// nothing changed. A ``ChangeCounter`` reads the number.
package final class SharedLocks: Sendable {
    private struct Stripe: Hashable {
        let group: CacheGroup
        let number: Int
    }

    private let directory: String
    private let timeout: Duration
    private let pause: Duration
    private let queue = QueueExecutor("identity-client.shared-locks", width: 4)
    private let counters = Mutex<[Stripe: ChangeCounter]>([:])

    /// - Parameters:
    ///   - directory: The directory of the lock files.
    ///   - timeout: The longest wait for a lock that another process holds.
    ///   - pause: The longest pause between two attempts.
    package init(directory: String, timeout: Duration, pause: Duration = .milliseconds(10)) {
        self.directory = directory
        self.timeout = timeout
        self.pause = pause
    }

    /// Takes the lock that guards `key`. Waits for it without blocking a thread.
    /// - Throws: `.cacheBusy` after the time-out, `.cachePermissions`, `.cache`, `CancellationError`.
    package func take(for key: CacheKey) async throws -> HeldLock {
        try await take(Stripe(group: key.group, number: try Self.stripe(of: key)))
    }

    private func take(_ stripe: Stripe) async throws -> HeldLock {
        let root = directory
        var wait = LockWait(timeout: timeout, maximumPause: pause)
        while true {
            if let lock = try await queue.doing({ try Self.tryTake(stripe, in: root) }) { return lock }
            try await wait.again(for: "\(root)/\(stripe.group.name)/\(FileCacheName.lock(stripe.number))")
        }
    }

    /// Takes all locks of `group`, so that no other process changes anything in it.
    /// - Throws: The errors of ``take(for:)``; then no lock is held.
    package func takeAll(in group: CacheGroup) async throws -> [HeldLock] {
        var locks: [HeldLock] = []
        for number in 0..<FileCacheName.stripes {
            // If an attempt fails, the locks taken so far end with the array.
            locks.append(try await take(Stripe(group: group, number: number)))
        }
        return locks
    }

    /// Returns the counter of the changes under the lock of `key`; its file is opened by the first call.
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

    /// Returns the counters of all changes in `group`, with their current numbers: the basis for remembering a complete
    /// listing.
    package func counts(in group: CacheGroup) async throws -> ChangeCounts {
        var counts: [(ChangeCounter, Int?)] = []
        for number in 0..<FileCacheName.stripes {
            let counter = try await counter(Stripe(group: group, number: number))
            counts.append((counter, counter.value))
        }
        return ChangeCounts(counts)
    }

    static func stripe(of key: CacheKey) throws -> Int {
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
        try SecureFile.checkLock(status, path: file.path)
        return ChangeCounter(file)
    }

    private static func open(_ group: CacheGroup, in root: String) throws -> Descriptor {
        for _ in 0..<5 {
            if let directory = try SecureDirectory.open(root, group.name) { return directory }
            try SecureDirectory.create(root, group.name)
        }
        throw AuthenticationError(.cache, "\(root) is being removed again and again while it is in use.")
    }
}

/// A lock of ``SharedLocks``, held until ``end()``.
package final class HeldLock: Sendable {
    private let lock: Mutex<FileLock?>

    init(_ lock: consuming FileLock) {
        self.lock = Mutex(lock)
    }

    /// Announces a change. Until ``endChange()``, no process remembers a record or trusts what it remembers. If this
    /// process dies, the next process that makes a change ends this change.
    /// - Throws: `.cache`, `.cacheBusy`, `.cachePermissions`; then nothing may be changed.
    package func beginChange() throws {
        do {
            try lock.withLock { try $0?.beginChange() }
        } catch {
            throw AuthenticationError.fromFileCache(error)
        }
    }

    /// Announces that no change is under way any more, neither this lock's own nor that of a process that died.
    package func endChange() {
        // While the number stays odd, nothing is remembered: that costs only time.
        lock.withLock { try? $0?.endChange() }
    }

    /// Releases the lock.
    package func end() {
        lock.withLock { $0 = nil }
    }
}
