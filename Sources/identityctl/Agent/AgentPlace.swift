// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient
import LoopbackHTTP
import SystemSupport

/// The place where an agent listens: its two sockets, and a lock that keeps every other agent away from them.
final class AgentPlace: Sendable {
    /// The path of the socket for requests.
    let path: String
    /// The socket for requests, and the socket for control.
    let listeners: [SharedDescriptor]
    private let lock: SharedDescriptor
    /// The names that end with the agent, the lock's last.
    private let names: [String]

    /// Takes the place. Sockets that a dead agent left are replaced.
    ///
    /// - Parameter activated: The socket for requests if systemd listens on it.
    /// - Throws: `SystemFailure`, also if another agent has the place.
    init(_ path: String, activated: SharedDescriptor? = nil) throws {
        let control = AgentSocket.controlPath(path)
        let names = activated == nil ? [path, control] : [control]
        try Self.makeDirectory(of: path)
        for name in names { try Self.checkVacant(name) }
        let lockPath = path + ".lock"
        lock = try Self.lock(lockPath, for: path)
        self.path = path
        self.names = names + [lockPath]
        do {
            listeners = [try activated ?? Self.listen(at: path), try Self.listen(at: control)]
        } catch {
            for name in self.names { unsafe unlink(name) }
            throw error
        }
    }

    deinit {
        // The lock is held until the names are gone, so that they are not those of the next agent.
        for name in names { unsafe unlink(name) }
    }

    private static func makeDirectory(of path: String) throws {
        try PlainFile.refuseForeignHome(of: path)
        let directory = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
        if unsafe mkdir(directory, 0o700) != 0, errno != EEXIST {
            throw SystemFailure("The directory \(directory.printable) could not be made", number: errno)
        }
        var status = stat()
        guard unsafe lstat(directory, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(),
            status.st_mode & 0o022 == 0
        else {
            throw SystemFailure("\(directory.printable) is no directory that is only yours. Give --socket PATH.")
        }
    }

    /// Checks that no process listens at a path. Not all that do have the lock: `sshd` forwards sockets too.
    private static func checkVacant(_ path: String) throws {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw SystemFailure("\(path.printable) exists and is no socket. Remove it, or give --socket PATH.")
        }
        guard !UnixSocket.isAlive(path) else { throw taken(path) }
    }

    /// Takes the lock, which the system frees when this process ends, however it ends.
    private static func lock(_ lockPath: String, for path: String) throws -> SharedDescriptor {
        for _ in 0..<10 {
            let raw = unsafe open(lockPath, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
            guard raw >= 0 else {
                throw SystemFailure("The agent's lock \(lockPath.printable) could not be opened", number: errno)
            }
            let lock = SharedDescriptor(raw)
            guard flock(raw, LOCK_EX | LOCK_NB) == 0 else {
                guard errno == EWOULDBLOCK else {
                    throw SystemFailure("The agent's lock \(lockPath.printable) could not be taken", number: errno)
                }
                throw taken(path)
            }
            // An agent that has just ended removed the file, perhaps after it was opened here.
            var (mine, named) = (stat(), stat())
            if unsafe fstat(raw, &mine) == 0, unsafe lstat(lockPath, &named) == 0, mine.st_ino == named.st_ino,
                mine.st_dev == named.st_dev
            {
                return lock
            }
        }
        throw taken(path)
    }

    private static func listen(at path: String) throws -> SharedDescriptor {
        do {
            return try UnixSocket.listen(at: path, backlog: 128)
        } catch let error as SystemCallError {
            throw SystemFailure("The socket \(path.printable) could not be made", number: error.number)
        }
    }

    private static func taken(_ path: String) -> SystemFailure {
        SystemFailure("An agent listens on \(path.printable) already. To end it: identityctl agent stop")
    }
}
