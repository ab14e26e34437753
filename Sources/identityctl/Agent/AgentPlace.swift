// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient
import LoopbackHTTP
import SystemSupport

/// The place where an agent listens: its two sockets, and a lock that keeps every other agent away from them. Or that of the
/// forwarder, with one socket.
final class AgentPlace: Sendable {
    enum Owner: String {
        case agent, forwarder

        fileprivate var advice: String { self == .agent ? "Give --socket PATH." : "Set XDG_RUNTIME_DIR to one." }
        fileprivate var command: String { self == .agent ? "agent" : "forward" }
    }

    /// The path of the socket for requests.
    let path: String
    /// The socket for requests, and the agent's socket for control.
    let listeners: [SharedDescriptor]
    private let lock: SharedDescriptor
    /// The names that end with the agent, the lock's last.
    private let names: [String]

    /// Takes the place. Sockets that a dead process left are replaced.
    ///
    /// - Parameter activated: The socket for requests if systemd listens on it.
    /// - Throws: `SystemFailure`, also if another process has the place.
    init(_ path: String, activated: SharedDescriptor? = nil, of owner: Owner = .agent) throws {
        let control = owner == .agent ? [AgentSocket.controlPath(path)] : []
        let names = activated == nil ? [path] + control : control
        try Self.makeDirectory(of: path, for: owner)
        for name in names { try Self.checkVacant(name, owner) }
        let lockPath = path + ".lock"
        lock = try Self.lock(lockPath, for: path, owner)
        self.path = path
        self.names = names + [lockPath]
        do {
            listeners = try [activated ?? Self.listen(at: path)] + control.map(Self.listen)
        } catch {
            for name in self.names { unsafe unlink(name) }
            throw error
        }
    }

    deinit {
        // The lock is held until the names are gone, so that they are not those of the next agent.
        for name in names { unsafe unlink(name) }
    }

    /// Makes the directory of a socket, for this user alone.
    ///
    /// - Throws: `SystemFailure`, also for a directory that others may write to.
    static func makeDirectory(of path: String, for owner: Owner) throws {
        try PlainFile.refuseForeignHome(of: path)
        let directory = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
        if unsafe mkdir(directory, 0o700) != 0, errno != EEXIST {
            throw SystemFailure("The directory \(directory.printable) could not be made", number: errno)
        }
        var status = stat()
        guard unsafe lstat(directory, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(),
            status.st_mode & 0o022 == 0
        else {
            throw SystemFailure("\(directory.printable) is no directory that is only yours. \(owner.advice)")
        }
    }

    /// Checks that no process listens at a path. Not all that do have the lock: `sshd` forwards sockets too.
    private static func checkVacant(_ path: String, _ owner: Owner) throws {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw SystemFailure("\(path.printable) exists and is no socket. Remove it, and try again.")
        }
        guard !UnixSocket.isAlive(path) else { throw taken(path, owner) }
    }

    /// Takes the lock, which the system frees when this process ends, however it ends.
    private static func lock(_ lockPath: String, for path: String, _ owner: Owner) throws -> SharedDescriptor {
        for _ in 0..<10 {
            let raw = unsafe open(lockPath, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
            guard raw >= 0 else {
                throw SystemFailure("The \(owner)'s lock \(lockPath.printable) could not be opened", number: errno)
            }
            let lock = SharedDescriptor(raw)
            guard flock(raw, LOCK_EX | LOCK_NB) == 0 else {
                guard errno == EWOULDBLOCK else {
                    throw SystemFailure("The \(owner)'s lock \(lockPath.printable) could not be taken", number: errno)
                }
                throw taken(path, owner)
            }
            // An agent that has just ended removed the file, perhaps after it was opened here.
            var (mine, named) = (stat(), stat())
            if unsafe fstat(raw, &mine) == 0, unsafe lstat(lockPath, &named) == 0, mine.st_ino == named.st_ino,
                mine.st_dev == named.st_dev
            {
                return lock
            }
        }
        throw taken(path, owner)
    }

    static func listen(at path: String) throws -> SharedDescriptor {
        do {
            return try UnixSocket.listen(at: path, backlog: 128)
        } catch let error as SystemCallError {
            throw SystemFailure("The socket \(path.printable) could not be made", number: error.number)
        }
    }

    private static func taken(_ path: String, _ owner: Owner) -> SystemFailure {
        SystemFailure(
            "\(owner == .agent ? "An agent" : "A forwarder") listens on \(path.printable) already. To end it: "
                + "identityctl \(owner.command) stop"
        )
    }
}
