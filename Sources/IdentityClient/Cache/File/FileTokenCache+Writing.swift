// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

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
            }
        }
        throw AuthenticationError(.cache, "\(root) is being removed again and again while it is in use.")
    }
}

// What killed writers left.
extension FileTokenCache {
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
        func unfinished() throws -> [String] {
            try directory.names().filter { FileCacheName.isTemporary($0, stripe: stripe) }
        }
        guard try !unfinished().isEmpty else { return true }
        guard let lock = try FileLock.take(stripe, in: directory) else { return false }
        // Files of these names are written only under the lock, except for those that a living process has reserved.
        for name in try unfinished() {
            guard let file = try directory.file(name), try file.tryLock() else { continue }
            try directory.remove(name)
        }
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
            throw Self.busy(lock, holder: FileLock.holder(of: lock), timeout: timeout)
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
