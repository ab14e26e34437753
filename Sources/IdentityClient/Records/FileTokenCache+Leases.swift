// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization
import SystemSupport

// The lock of a lease is that of its own file, so that no other file is left over. The file gets its name when it is
// locked, and every later lease is another file: a lock on a file that lost its name means nothing.
extension FileTokenCache: LeaseLocking {
    package func lockLease(
        over expected: CacheRecord?,
        with lease: @escaping @Sendable (_ isLocked: Bool) -> CacheRecord,
        for key: CacheKey
    ) async throws -> StoredLease? {
        try await write(key) { try $0.lockLease(over: expected, with: lease) }
    }

    package func isLeaseLocked(_ lease: CacheRecord, for key: CacheKey) async throws -> Bool? {
        try await reading { try self.findLock(of: lease, for: key) }
    }

    private func findLock(of lease: CacheRecord, for key: CacheKey) throws -> Bool? {
        let name = try FileCacheName.record(key)
        guard let directory = try SecureDirectory.open(self.directory(), key.group.name),
            let file = try directory.file(name)
        else { return false }
        try SecureFile.check(file.status(), path: file.path)
        guard file.hasLocksOfThisKernel else { return nil }
        guard try file.read(atMost: lease.bytes.count + 1) == lease.bytes else { return false }
        // Shared, so that two processes that look at once do not see each other.
        return try !file.tryLock(isShared: true)
    }
}

extension FileWrite {
    func lockLease(over expected: CacheRecord?, with lease: (_ isLocked: Bool) -> CacheRecord) throws -> StoredLease? {
        guard try cache.readRecord(for: key, named: name, in: directory) == expected else { return nil }
        let temporary = FileCacheName.temporary(FileCacheName.stripe(name))
        let file = try directory.newFile(temporary)
        let record: CacheRecord
        let isLocked: Bool
        do {
            // A file system without locks has leases without locks.
            isLocked = file.hasLocksOfThisKernel && (try? file.tryLock()) ?? false
            record = lease(isLocked)
            try file.write(record.bytes)
            try directory.rename(temporary, to: name)
        } catch {
            try? directory.remove(temporary)  // The first failure is the one to tell.
            throw error
        }
        // Its holder may have died before the names of its records were on the disk, and this process spends what it reads there.
        if expected != nil { try directory.synchronize() }
        cache.forget(key)
        // After taking a lease, the caller reads the credential. On NFS what `lstat` says may be up to a minute out of date:
        // open the file anew.
        cache.forget(key.credential)
        return StoredLease(record, lock: isLocked ? LeaseLock(file) : nil)
    }
}

/// The right to write the records of one stripe, until the value goes out of scope or its process ends.
struct FileLock: ~Copyable {
    private let file: Descriptor

    private init(_ file: consuming Descriptor) {
        self.file = file
    }

    deinit {
        file.unlock()
    }

    /// Takes the lock of `stripe` in `directory`; returns `nil` if another process has it.
    /// - Throws: `.cachePermissions` when the owner, mode or kind of the lock file is wrong.
    static func take(_ stripe: Int, in directory: borrowing Descriptor) throws -> FileLock? {
        let name = FileCacheName.lock(stripe)
        let file = try directory.lockFile(name)
        let status = try file.status()
        try SecureFile.checkLock(status, path: file.path)
        guard try file.tryLock() else { return nil }
        // Another process may have removed the file before it was locked: then the lock is another file by now.
        guard let named = try directory.status(of: name), named.fingerprint.inode == status.fingerprint.inode else {
            return nil
        }
        return FileLock(file)
    }

    /// Makes the number of the lock file odd, for the processes that watch it. The number is already odd if a process
    /// died before ``endChange()``.
    func beginChange() throws {
        guard let number = try file.namedLength() else {
            throw AuthenticationError(.cacheBusy, "\(file.path) was removed while it was in use. Try again.")
        }
        if number.isMultiple(of: 2) { try file.extend(to: number + 1) }
    }

    /// Makes the number even again.
    func endChange() throws {
        guard let number = try file.namedLength(), !number.isMultiple(of: 2) else { return }
        try file.extend(to: number + 1)
    }

    /// Removes files that dead writers left under this lock more than a minute ago. Looks at most every ten minutes.
    ///
    /// Files of these names are created only under the lock. One that waits for its write has a lock of its own, as
    /// long as its writer lives.
    func clearStaleFiles(of stripe: Int, in directory: borrowing Descriptor, now: FileTime) throws {
        let age = try file.status().fingerprint.modified.duration(to: now)
        guard age > .seconds(600) || age < .zero else { return }
        try file.stamp(now)
        try removeLeftFiles(of: stripe, in: directory) { $0.duration(to: now) > .seconds(60) }
    }

    /// Removes files that dead writers left under this lock.
    ///
    /// - Parameter isOld: Whether a file of that time may go.
    /// - Returns: Whether a file was removed.
    @discardableResult
    func removeLeftFiles(
        of stripe: Int,
        in directory: borrowing Descriptor,
        where isOld: (FileTime) -> Bool = { _ in true }
    ) throws -> Bool {
        var isAny = false
        for name in try directory.names() where FileCacheName.isTemporary(name, stripe: stripe) {
            guard let status = try directory.status(of: name), isOld(status.fingerprint.modified),
                let file = try directory.file(name), try file.tryLock()
            else { continue }
            try directory.remove(name)
            isAny = true
        }
        return isAny
    }
}

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
