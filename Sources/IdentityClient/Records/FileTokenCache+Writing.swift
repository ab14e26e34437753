// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
package import SystemSupport

extension FileTokenCache {
    /// Does `work` on the file of `key` under its lock, and waits for the lock if needed.
    ///
    /// The task waits, not the queue, so cancelling the task ends the wait. If there is no directory yet, the result is
    /// `valueWithoutDirectory`; if that is `nil`, the directory is created.
    func write<Value: Sendable>(
        _ key: CacheKey,
        valueWithoutDirectory: Value? = nil,
        _ work: @escaping @Sendable (borrowing FileWrite) throws -> Value
    ) async throws -> Value {
        let name = try FileCacheName.record(key)
        let writer = writers[FileCacheName.stripe(name)]
        var wait = LockWait(timeout: lockTimeout)
        while true {
            if let value = try await writer.doing({ try self.tryWrite(key, named: name, valueWithoutDirectory, work) })
            {
                return value
            }
            try await wait.again(
                for: directory() + "/\(key.group.name)/" + FileCacheName.lock(FileCacheName.stripe(name))
            )
        }
    }

    /// Does `work` once if the lock is free; returns `nil` if it is not.
    private func tryWrite<Value>(
        _ key: CacheKey,
        named name: String,
        _ valueWithoutDirectory: Value?,
        _ work: (borrowing FileWrite) throws -> Value
    ) throws -> Value? {
        let root = try self.directory()
        var hasMadeRoom = false
        for _ in 0..<5 {
            guard let directory = try SecureDirectory.open(root, key.group.name) else {
                if let valueWithoutDirectory { return valueWithoutDirectory }
                try SecureDirectory.create(root, key.group.name)
                continue
            }
            do {
                guard let lock = try FileLock.take(FileCacheName.stripe(name), in: directory) else { return nil }
                // Leftover files that cannot be removed now are removed later; the write does not depend on it.
                try? lock.clearStaleFiles(of: FileCacheName.stripe(name), in: directory, now: SystemCall.now)
                return try work(FileWrite(cache: self, key: key, name: name, directory: directory, lock: lock))
            } catch let failure as SystemCallError where failure.number == ENOENT {
                continue  // The directory was removed after it was opened: make it again.
            } catch let failure as SystemCallError where [ENOSPC, EDQUOT].contains(failure.number) && !hasMadeRoom {
                hasMadeRoom = true
                guard try makeRoom(in: key.group) else { throw failure }
            }
        }
        throw AuthenticationError(.cache, "\(root) is being removed again and again while it is in use.")
    }
}

// What killed writers left.
extension FileTokenCache {
    /// Removes their files in `group`, however new, where locks tell whether a writer lives: a small disk may be full of them.
    ///
    /// - Returns: Whether there is more room.
    private func makeRoom(in group: CacheGroup) throws -> Bool {
        guard let directory = try SecureDirectory.open(self.directory(), group.name), directory.hasLocksOfThisKernel
        else {
            return false
        }
        let names = try directory.names()
        var hasRoom = false
        for stripe in 0..<FileCacheName.stripes
        where names.contains(where: { FileCacheName.isTemporary($0, stripe: stripe) }) {
            // A process that holds the lock may be writing.
            guard let lock = try FileLock.take(stripe, in: directory) else { continue }
            if try lock.removeLeftFiles(of: stripe, in: directory) { hasRoom = true }
        }
        return hasRoom
    }

    /// Removes the files of `group` that writers were writing when they were killed, of any age. They may contain tokens.
    ///
    /// - Throws: The errors of ``replace(_:with:for:)``.
    package func removeUnfinishedFiles(in group: CacheGroup) async throws {
        for stripe in 0..<FileCacheName.stripes {
            var wait = LockWait(timeout: lockTimeout)
            while try await !writers[stripe].doing({ try self.tryRemoveUnfinishedFiles(of: stripe, in: group) }) {
                try await wait.again(for: directory() + "/\(group.name)/" + FileCacheName.lock(stripe))
            }
        }
    }

    /// Returns false if another process holds the lock.
    private func tryRemoveUnfinishedFiles(of stripe: Int, in group: CacheGroup) throws -> Bool {
        guard let directory = try SecureDirectory.open(self.directory(), group.name) else { return true }
        guard try directory.names().contains(where: { FileCacheName.isTemporary($0, stripe: stripe) }) else {
            return true
        }
        guard let lock = try FileLock.take(stripe, in: directory) else { return false }
        try lock.removeLeftFiles(of: stripe, in: directory)
        try directory.synchronize()
        _ = consume lock
        return true
    }
}

/// The time that a writer has waited for another process, and its next pause.
struct LockWait {
    private let timeout: Duration
    private let maximumPause: Duration
    private var deadline: SuspendingClock.Instant?
    private var pause = Duration.milliseconds(1)

    init(timeout: Duration, maximumPause: Duration = .milliseconds(10)) {
        self.timeout = timeout
        self.maximumPause = maximumPause
    }

    /// Waits a moment: 1 ms at first, and twice as long each time.
    /// - Throws: `.cacheBusy` when the time is over, `CancellationError`.
    mutating func again(for lock: String) async throws {
        let now = SuspendingClock.now
        let deadline = deadline ?? now.advanced(by: timeout)
        guard now < deadline else {
            throw Self.busy(lock, holder: LockTable.holder(of: lock), timeout: timeout)
        }
        self.deadline = deadline
        try await Task.sleep(for: pause, clock: .suspending)
        pause = min(pause * 2, maximumPause)
    }

    static func busy(_ lock: String, holder: Int32?, timeout: Duration) -> AuthenticationError {
        let who = holder.map { "Process \($0)" } ?? "Another process"
        return AuthenticationError(
            .cacheBusy,
            "\(who) has held the lock \(lock) for longer than \(timeout). End that process if it hangs, and try again."
        )
    }
}

/// A change of one record's file while its lock is held.
struct FileWrite: ~Copyable {
    let cache: FileTokenCache
    let key: CacheKey
    let name: String
    let directory: Descriptor
    private let lock: FileLock

    init(cache: FileTokenCache, key: CacheKey, name: String, directory: consuming Descriptor, lock: consuming FileLock)
    {
        self.cache = cache
        self.key = key
        self.name = name
        self.directory = directory
        self.lock = lock
    }

    /// As much as a record with some access tokens and ID tokens takes.
    static let usualSize = 16 << 10

    /// A lease is worth nothing after a crash, so it need not survive one.
    private var isDurable: Bool { key.kind != .lease }

    func replace(_ expected: CacheRecord?, with new: CacheRecord?) throws -> Bool {
        guard try cache.readRecord(for: key, named: name, in: directory) == expected else { return false }
        if let new {
            try put(new)
            // After taking a lease, the caller reads the credential. On NFS what `lstat` says may be up to a minute out of
            // date: open the file anew.
            if key.kind == .lease { cache.forget(key.credential) }
        } else if expected != nil {
            try directory.remove(name)
            cache.forget(key)
            if isDurable { try directory.synchronize() }
        }
        return true
    }

    private func put(_ record: CacheRecord) throws {
        guard record.bytes.count <= SecureFile.sizeLimit else {
            throw AuthenticationError(
                .invalidArgument,
                "A cache record has at most 1 MiB; this one has \(record.bytes.count) bytes."
            )
        }
        let written = try directory.replace(
            name,
            with: record.bytes,
            through: FileCacheName.temporary(FileCacheName.stripe(name)),
            reserved: cache.reservedFiles.take(for: key),
            stamp: SystemCall.now,
            isDurable: isDurable
        )
        cache.remember(
            record,
            for: key,
            path: "\(directory.path)/\(name)",
            fingerprint: written.fingerprint,
            isSettled: written.isSettled
        )
        if isDurable { try directory.synchronize() }
    }

    /// Opens the file of a later write, with space for `bytes` bytes.
    func reserve(_ bytes: Int) throws -> ReservedFile {
        let size = min(max(bytes, 1), SecureFile.sizeLimit)
        return try ReservedFile(FileCacheName.temporary(FileCacheName.stripe(name)), size, in: directory)
    }

    /// Writes a file and removes it at once. Space on the disk and in the quota is taken by the write, not by the sync.
    func check() throws {
        let temporary = FileCacheName.temporary(FileCacheName.stripe(name))
        let file = try directory.newFile(temporary)
        defer { try? directory.remove(temporary) }  // Else it goes with what dead writers have left.
        try file.write([UInt8](repeating: 0, count: Self.usualSize))
    }

    func setAside(_ record: CacheRecord) throws -> String {
        guard try cache.readRecord(for: key, named: name, in: directory) == record else {
            throw AuthenticationError(.cacheBusy, "\(directory.path)/\(name) was changed meanwhile. Read it again.")
        }
        let stem = "\(name).corrupt-\(SystemCall.now.nanoseconds / 1_000_000_000)"
        var aside = stem
        var number = 1
        while try directory.status(of: aside) != nil {
            number += 1
            aside = "\(stem)-\(number)"
        }
        try directory.rename(name, to: aside)
        cache.forget(key)
        try directory.synchronize()
        return "\(directory.path)/\(aside)"
    }
}

/// The reserved files of a cache, by the keys of their records.
package final class ReservedFiles<Key: Hashable & Sendable>: Sendable {
    private let files = Mutex<[(key: Key, file: ReservedFile)]>([])

    package init() {}

    /// Keeps a file until the next write under `key`.
    ///
    /// - Parameter queue: The queue that removes the file if it is not used.
    package func keep(_ file: ReservedFile, for key: Key, removingOn queue: QueueExecutor) -> any TokenCacheReservation
    {
        files.withLock { $0.append((key, file)) }
        return Reservation(self, file, queue)
    }

    /// Takes a file for a write under `key`, if there is one.
    package func take(for key: Key) -> ReservedFile? {
        files.withLock { files in
            files.firstIndex { $0.key == key }.map { files.remove(at: $0).file }
        }
    }

    fileprivate func take(_ file: ReservedFile) -> ReservedFile? {
        files.withLock { files in
            files.firstIndex { $0.file === file }.map { files.remove(at: $0).file }
        }
    }
}

/// One reserved file, for its caller. It holds no file, so that the space of a file that was used is the record's alone.
private final class Reservation<Key: Hashable & Sendable>: TokenCacheReservation {
    private let files: ReservedFiles<Key>
    private weak let file: ReservedFile?
    private let queue: QueueExecutor

    init(_ files: ReservedFiles<Key>, _ file: ReservedFile, _ queue: QueueExecutor) {
        (self.files, self.file, self.queue) = (files, file, queue)
    }

    func release() async {
        guard let file = file.flatMap({ files.take($0) }) else { return }
        // Removing cannot throw, and the queue throws nothing of its own.
        try? await queue.run { file.remove() }
    }

    deinit {
        guard let file = file.flatMap({ files.take($0) }) else { return }
        queue.start { file.remove() }
    }
}

/// The state of a FileTokenCache's directory before its first use.
package struct FileCacheInspection: Sendable {
    /// The directory's path.
    package let path: String
    /// The directory's permission bits, or `nil` if it does not exist yet.
    package var mode: UInt32?
    /// Whether every process that can open its files sees its locks (``Descriptor/hasLocksOfThisKernel``).
    package var hasLocksOfThisKernel = true
    /// The reason why the directory cannot be used; `nil` if it can.
    package var problem: AuthenticationError?
}

extension FileTokenCache {
    /// Looks at the directory, or at what it would be made in, and writes and locks a file there that is removed at once.
    package func inspect() throws -> FileCacheInspection {
        var found = FileCacheInspection(path: try directory())
        do {
            if let status = try Descriptor.directory(found.path)?.status() {
                found.mode = status.mode
                try SecureFile.checkDirectory(status, path: found.path)
            }
            let place = try SecureDirectory.nearest(to: found.path)
            try SystemCall.checkWritable(place)
            guard let directory = try Descriptor.directory(place) else { return found }
            found.hasLocksOfThisKernel = directory.hasLocksOfThisKernel
            try Self.tryToWrite(in: directory)
        } catch {
            found.problem = AuthenticationError.fromFileCache(error) as? AuthenticationError
        }
        return found
    }

    /// A full disk, and one without locks, shows when something is written and locked.
    private static func tryToWrite(in directory: borrowing Descriptor) throws {
        let name = ".new-inspection-\(String(UInt64.random(in: .min ... .max), radix: 16))"
        let file = try directory.newFile(name)
        defer { try? directory.remove(name) }  // What was written counts.
        try file.write([UInt8](repeating: 0, count: FileWrite.usualSize))
        _ = try file.tryLock()
    }
}
