// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient
import Synchronization
package import SystemSupport

/// The file beside a keyring item by whose time programs with MSAL tell each other that the item has changed, and the lock file under
/// which they write.
package struct MSALSignal: Hashable, Sendable {
    let path: String
    let lockPath: String

    /// - Parameters:
    ///   - path: The file. A relative path begins at the current working directory.
    ///   - lock: The lock file; `nil` means the file's name with `.lockfile` at the end.
    package init(_ path: String, lock: String?) {
        let directory = SystemCall.workingDirectory ?? "/"
        self.path = FilePath.absolute(path, in: directory)
        lockPath = lock.map { FilePath.absolute($0, in: directory) } ?? self.path + ".lockfile"
    }

    /// The file as it is at one time.
    package struct Sight: Sendable {
        fileprivate let fingerprint: FileFingerprint?
        fileprivate let isSettled: Bool
    }

    /// Looks at the file, before the item is read.
    package func sight() -> Sight {
        let now = SystemCall.now
        let fingerprint = SystemCall.fingerprint(of: path)
        // Programs choose the time of the last modification, and the system that of the last change.
        return Sight(
            fingerprint: fingerprint,
            isSettled: fingerprint.map { $0.changed.duration(to: now) >= .milliseconds(20) } ?? true
        )
    }

    /// Whether no program has told of a change since `sight`. Costs one system call.
    package func isUnchanged(since sight: Sight) -> Bool {
        sight.isSettled && SystemCall.fingerprint(of: path) == sight.fingerprint
    }

    /// Tells the other programs that the item changes: sets the file's time, and creates the file if there is none.
    ///
    /// The time is two seconds ahead, as that of a shared file: MSAL Python reads again until its clock is later. So a change that
    /// comes soon after the signal is seen too.
    func announce() throws {
        let (parent, name) = FilePath.split(path)
        guard let directory = try Descriptor.directory(parent) else {
            throw SystemCallError("open", parent, number: ENOENT)
        }
        let file = try directory.lockFile(name)
        guard try file.status().kind == .file else {
            throw SecureFile.refusal("\(path) is not a plain file. Remove it.")
        }
        var ahead = SystemCall.now.timespec
        ahead.tv_sec += 2
        try file.stamp(FileTime(ahead))
    }

    /// Waits for the lock of the programs that write the item.
    ///
    /// - Parameter timeout: The longest wait.
    /// - Throws: `.cacheBusy` after `timeout`, `.cachePermissions`, `.cache`, `CancellationError`; then the lock is not held.
    package func lock(within timeout: Duration, on queue: QueueExecutor) async throws -> HeldMSALLock {
        try await MSALLock.waiting(for: lockPath, within: timeout, on: queue) { [self] in
            for path in [path, lockPath] { try SecureDirectory.create(forFile: path) }
            guard let lock = try MSALLock.take(lockPath) else { return nil }
            return HeldMSALLock(lock, self, queue)
        }
    }
}

/// The right to change a keyring item of programs with MSAL, across the calls to the keyring.
package final class HeldMSALLock: Sendable {
    private struct State: ~Copyable {
        var lock: MSALLock?
        /// Whether a change was announced.
        var isAnnounced = false
    }

    private let state: Mutex<State>
    private let signal: MSALSignal
    private let queue: QueueExecutor

    fileprivate init(_ lock: consuming MSALLock, _ signal: MSALSignal, _ queue: QueueExecutor) {
        state = Mutex(State(lock: lock))
        self.signal = signal
        self.queue = queue
    }

    /// Tells the other programs that the item changes, before it does: this process may die before the keyring's answer.
    ///
    /// - Throws: `.cacheBusy` if another program has taken the lock.
    package func announce() async throws {
        try await queue.doing { [self] in
            try state.withLock { state in
                guard state.lock?.isHeld ?? false else {
                    throw AuthenticationError(
                        .cacheBusy,
                        "Another program took the lock \(signal.lockPath). Try again."
                    )
                }
                try signal.announce()
                state.isAnnounced = true
            }
        }
    }

    /// Tells the other programs once more of a change that was announced, and gives the lock back. Nothing keeps it from that.
    package func end() async {
        // Nothing in here throws.
        try? await queue.run { [self] in
            state.withLock { state in
                // The first announcement was two seconds ahead, which is enough unless the keyring was slow.
                if state.isAnnounced { try? signal.announce() }
                state.lock = nil
            }
        }
    }
}
