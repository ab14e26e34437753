// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Locks between the processes of one user, for storage that cannot compare and replace by itself.
///
/// They are files in the user's runtime directory, sixteen for a group, and each has a number, its length, that grows
/// with every change made under it: whoever remembers the number finds out for the price of one `fstat` that nothing
/// changed. A ``ChangeCounter`` reads it.
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
    ///   - directory: Where the lock files are.
    ///   - timeout: How long a lock that another process has is waited for.
    ///   - pause: How long the pauses between two tries become.
    package init(directory: String, timeout: Duration, pause: Duration = .milliseconds(10)) {
        self.directory = directory
        self.timeout = timeout
        self.pause = pause
    }

    /// Takes the lock that guards `key`, waiting for it without holding a thread.
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

/// One of the ``SharedLocks``, held until it is ended.
package final class HeldLock: Sendable {
    private let lock: Mutex<FileLock?>

    init(_ lock: consuming FileLock) {
        self.lock = Mutex(lock)
    }

    /// Says that something is going to change. Until ``endChange()`` nobody remembers, or believes what is remembered,
    /// also if this process dies: the next one to change something ends it.
    /// - Throws: `.cache`, `.cacheBusy`, `.cachePermissions`; then nothing may be changed.
    package func beginChange() throws {
        do {
            try lock.withLock { try $0?.beginChange() }
        } catch {
            throw AuthenticationError.fromFileCache(error)
        }
    }

    /// Says that no change is under way any more: neither one's own nor that of somebody who died.
    package func endChange() {
        // While the number stays odd, nothing is remembered: that costs time only.
        lock.withLock { try? $0?.endChange() }
    }

    /// Lets go of the lock.
    package func end() {
        lock.withLock { $0 = nil }
    }
}
