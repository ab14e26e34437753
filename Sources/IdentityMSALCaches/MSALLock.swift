// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient
import OAuthWire
import SystemSupport

/// The right to change a shared cache: both kinds of lock that the MSALs use, on one lock file.
///
/// MSAL Python's and Node's lock is that the file exists; that of .NET, Go and Python with portalocker is `flock` of
/// it. The holder of this value has created the file and has its `flock`, or has taken over a file that a dead process
/// left.
struct MSALLock: ~Copyable {
    private let file: Descriptor
    private let directory: Descriptor
    private let name: String
    private let inode: UInt64

    /// The age at which the file of a process that is gone is taken over. It is far more than any of the libraries
    /// holds its lock, in case the process lives in another container and only seems to be gone.
    static let deadAge = Duration.seconds(5)
    /// The age at which a file without `flock` is taken over, whoever wrote it.
    static let staleAge = Duration.seconds(60)

    private init(_ file: consuming Descriptor, _ directory: consuming Descriptor, _ name: String, _ inode: UInt64) {
        self.file = file
        self.directory = directory
        self.name = name
        self.inode = inode
    }

    deinit {
        // If another program removed the file, the name may belong to a later holder.
        if (try? directory.status(of: name))??.fingerprint.inode == inode { try? directory.remove(name) }
        file.unlock()
    }

    /// Takes the lock file at `path`; returns `nil` if another process has it.
    static func take(_ path: String) throws -> MSALLock? {
        let (parent, name) = FilePath.split(path)
        guard let directory = try Descriptor.directory(parent) else {
            throw SystemCallError("open", parent, number: ENOENT)
        }
        try SecureFile.checkDirectory(directory.status(), path: parent)
        guard let file = try candidate(name, in: directory) else { return nil }
        // Another program may have removed the file in between: then the lock is another file.
        let inode = try file.status().fingerprint.inode
        guard try directory.status(of: name)?.fingerprint.inode == inode else { return nil }
        return MSALLock(file, directory, name, inode)
    }

    /// Creates the file, or opens the file of a process that is gone, and takes its `flock`.
    private static func candidate(_ name: String, in directory: borrowing Descriptor) throws -> Descriptor? {
        if try directory.status(of: name) != nil { return try leftBehind(name, in: directory) }
        guard let file = try created(name, in: directory) else { return nil }
        // A program that only uses flock may have opened the new file; it removes the file when it is done.
        guard try file.tryLock() else { return nil }
        let program = FilePath.split(CommandLine.arguments.first ?? "").name
        try file.write(Array("\(getpid()) \(program)".utf8.prefix(200)) + mark)
        return file
    }

    private static func created(
        _ name: String,
        in directory: borrowing Descriptor
    ) throws(SystemCallError) -> Descriptor? {
        do {
            return try directory.newFile(name)
        } catch  where error.isExistence {
            return nil
        }
    }

    private static func leftBehind(_ name: String, in directory: borrowing Descriptor) throws -> Descriptor? {
        guard let file = try directory.file(name) else { return nil }
        let status = try file.status()
        guard status.kind == .file else { throw SecureFile.refusal("\(file.path) is not a plain file. Remove it.") }
        // Asked before flock is tried, which would disturb a process that has created the file this moment.
        guard isStale(status, try file.read(atMost: 256), at: SystemCall.now), try file.tryLock() else { return nil }
        return file
    }

    /// Whether the lock file is still this one. .NET and Go remove a file that Python or Node created, and others then
    /// create a new one.
    var isHeld: Bool { (try? directory.status(of: name))??.fingerprint.inode == inode }

    /// The end of the content that this library writes: its processes have the `flock` as long as they live.
    private static let mark = Array(" flock".utf8)

    /// Whether a file was left by a process that ended, if no process has its `flock`.
    static func isStale(_ status: FileStatus, _ content: [UInt8], at now: FileTime) -> Bool {
        if content.suffix(mark.count) == mark[...] { return true }
        let age = status.fingerprint.modified.duration(to: now)
        if age > staleAge { return true }
        // A time far ahead tells no age: the clock was set back since. Then the process alone decides.
        guard age > deadAge || age < .zero - staleAge else { return false }
        // A program that died between creating the file and writing into it, or a computer before what was written was on the disk.
        if content.allSatisfy({ $0 == 0 }) { return true }
        guard let process = process(in: content) else { return false }
        return kill(process, 0) != 0 && errno == ESRCH
    }

    /// The process in a lock file: `4711 program`, with a byte order mark from .NET, in braces from Go.
    static func process(in content: [UInt8]) -> Int32? {
        let text = content.drop { !$0.isDigit }
        guard content.count - text.count <= 3 else { return nil }
        let digits = text.prefix(while: \.isDigit)
        return Int32(String(decoding: digits, as: UTF8.self)).flatMap { $0 > 0 ? $0 : nil }
    }

    /// Tries until `attempt` gets the lock. The task waits, not the queue, so cancelling the task ends the wait.
    ///
    /// - Parameter attempt: Returns `nil` if another process has the lock.
    /// - Throws: `.cacheBusy` after `timeout`; the errors of `attempt`; `CancellationError`.
    static func waiting<Value: Sendable>(
        for path: String,
        within timeout: Duration,
        on queue: QueueExecutor,
        _ attempt: @escaping @Sendable () throws -> Value?
    ) async throws -> Value {
        let deadline = SuspendingClock.now.advanced(by: timeout)
        var pause = Duration.milliseconds(1)
        while true {
            if let value = try await queue.doing(attempt) { return value }
            guard SuspendingClock.now < deadline else { throw busy(path, timeout: timeout) }
            // Not in step with other processes.
            try await Task.sleep(for: pause * Double.random(in: 0.5...1), clock: .suspending)
            pause = min(pause * 2, .milliseconds(20))
        }
    }

    /// The error for a lock that did not become free.
    private static func busy(_ path: String, timeout: Duration) -> AuthenticationError {
        // Only the message depends on this: if anything fails, the holder is unknown.
        let content = (try? Descriptor.file(at: path)?.read(atMost: 256)) ?? []
        let holder = LockTable.holder(of: path) ?? process(in: content)
        let who = holder.map { "Process \($0)" } ?? "Another program"
        return AuthenticationError(
            .cacheBusy,
            """
            \(who) has held the lock \(path) of the shared token cache for longer than \(timeout). Try again. If no \
            program uses the cache, remove that file.
            """
        )
    }
}
