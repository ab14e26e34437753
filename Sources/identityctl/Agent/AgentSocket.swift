// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient

/// A descriptor of a socket, closed with its last reference.
final class AgentSocket: Sendable {
    let raw: Int32

    init(_ raw: Int32) {
        self.raw = raw
    }

    deinit {
        _ = close(raw)
    }
}

extension AgentSocket {
    /// The longest path of a socket in bytes.
    static let maximumPathBytes = 107

    /// The default socket, in the directory that the system makes for each person's session.
    ///
    /// - Throws: `UsageError` where there is no such directory.
    static func defaultPath(_ environment: Environment) throws -> String {
        guard let directory = environment["XDG_RUNTIME_DIR"], directory.hasPrefix("/") else {
            throw UsageError("XDG_RUNTIME_DIR is not set here, so the agent's socket has no place. Give --socket PATH.")
        }
        return "\(directory)/identityctl/agent.sock"
    }

    /// The socket that takes `lock`, `unlock`, `stop`. It is not forwarded, so no other machine can unlock an agent.
    static func controlPath(_ path: String) -> String { path + ".control" }

    /// Binds a socket that only its owner may use, and listens. A socket that no process listens on is replaced.
    ///
    /// - Throws: `SystemFailure`, also if an agent listens there.
    static func listen(at path: String) throws -> AgentSocket {
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
        if unsafe lstat(path, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFSOCK else {
                throw SystemFailure("\(path.printable) exists and is no socket. Remove it, or give --socket PATH.")
            }
            guard !isAlive(path) else {
                throw SystemFailure("An agent listens on \(path.printable) already. To end it: identityctl agent stop")
            }
        }
        let socket = try make()
        let preparing = "\(path)~"
        unsafe unlink(preparing)
        guard unsafe withAddress(preparing, { unsafe bind(socket.raw, $0, $1) }) == 0 else {
            throw SystemFailure("The socket \(path.printable) could not be made", number: errno)
        }
        // The name appears only once the socket listens, and only its owner can connect.
        guard unsafe chmod(preparing, 0o600) == 0, Glibc.listen(socket.raw, 128) == 0,
            unsafe rename(preparing, path) == 0
        else {
            let failure = SystemFailure("The socket \(path.printable) could not be made", number: errno)
            unsafe unlink(preparing)
            throw failure
        }
        return socket
    }

    /// The listening socket that systemd passes to this process; `nil` if it passes none.
    ///
    /// - SeeAlso: sd_listen_fds(3)
    static func activated(_ environment: Environment) throws -> AgentSocket? {
        guard let process = environment["LISTEN_PID"], Int32(process) == getpid() else { return nil }
        guard environment["LISTEN_FDS"] == "1" else {
            throw SystemFailure("systemd passed other than one socket. Look at the agent's socket unit.")
        }
        var isListening: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard unsafe getsockopt(3, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &size) == 0, isListening == 1,
            fcntl(3, F_SETFD, FD_CLOEXEC) == 0, fcntl(3, F_SETFL, O_NONBLOCK) == 0
        else { throw SystemFailure("systemd passed no listening socket. Look at the agent's socket unit.") }
        return AgentSocket(3)
    }

    /// The path that a listening socket is bound to.
    var path: String? {
        var address = sockaddr_un()
        var size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe getsockname(raw, $0, &size) }
        }
        guard result == 0, Int32(address.sun_family) == AF_UNIX else { return nil }
        let bytes = unsafe withUnsafeBytes(of: &address.sun_path) { unsafe $0.prefix { $0 != 0 }.map { $0 } }
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }

    /// Whether a process listens at `path`.
    static func isAlive(_ path: String) -> Bool {
        guard let socket = try? make() else { return false }
        // A full queue is a living listener too.
        return unsafe withAddress(path, { unsafe connect(socket.raw, $0, $1) }) == 0 || errno == EAGAIN
    }

    /// Connects, and waits at most `seconds` for each of the later steps.
    ///
    /// - Returns: `nil` if no process of this user, or of root, listens at `path`; `errno` says why.
    static func connected(to path: String, seconds: Int) -> AgentSocket? {
        guard let socket = try? make(isBlocking: true) else { return nil }
        var timeout = timeval(tv_sec: seconds, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        guard unsafe setsockopt(socket.raw, SOL_SOCKET, SO_RCVTIMEO, &timeout, size) == 0,
            unsafe setsockopt(socket.raw, SOL_SOCKET, SO_SNDTIMEO, &timeout, size) == 0,
            unsafe withAddress(path, { unsafe connect(socket.raw, $0, $1) }) == 0
        else { return nil }
        // A token from another user's agent could be a trap. sshd, which forwards, may run as root.
        guard let user = AgentPeer(of: socket)?.user, user == geteuid() || user == 0 else {
            errno = EPERM
            return nil
        }
        return socket
    }

    private static func make(isBlocking: Bool = false) throws -> AgentSocket {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        let raw = socket(AF_UNIX, isBlocking ? type : type | Int32(SOCK_NONBLOCK.rawValue), 0)
        guard raw >= 0 else { throw SystemFailure("A socket could not be made", number: errno) }
        return AgentSocket(raw)
    }

    private static func withAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        guard path.utf8.count <= maximumPathBytes, !path.utf8.contains(0) else {
            errno = ENAMETOOLONG
            return -1
        }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}

/// The process at the other end of a connection, as the kernel knows it.
struct AgentPeer: Hashable, Sendable {
    let process: Int32
    let user: UInt32

    init?(of socket: AgentSocket) {
        // `struct ucred`, which the headers hide from Swift: process, user, group.
        var credentials: (process: Int32, user: UInt32, group: UInt32) = (0, .max, .max)
        var size = socklen_t(MemoryLayout<(Int32, UInt32, UInt32)>.size)
        guard unsafe getsockopt(socket.raw, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 else { return nil }
        (process, user) = (credentials.process, credentials.user)
    }

    /// The program's file, for the log only: the process may have ended, and another may have its number.
    var program: String? {
        var buffer = [UInt8](repeating: 0, count: 512)
        let count = unsafe buffer.withUnsafeMutableBytes { bytes in
            guard let base = unsafe bytes.bindMemory(to: CChar.self).baseAddress else { return 0 }
            return unsafe readlink("/proc/\(process)/exe", base, bytes.count)
        }
        return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self).printable : nil
    }
}
