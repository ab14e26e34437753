// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc

/// Sockets with a name in the file system, for the programs of one user.
package enum UnixSocket {
    /// The maximum length of a path in bytes.
    package static let maximumPathBytes = 107

    /// Binds a socket at `path`, in place of any socket there, and listens; only its owner may connect.
    ///
    /// The name appears only once the socket listens: a refused connection means that the listener is gone.
    ///
    /// - Parameter backlog: The number of connections that wait to be accepted.
    /// - Throws: ``SystemCallError``
    package static func listen(at path: String, backlog: Int32 = 16) throws -> SharedDescriptor {
        let descriptor = try make()
        let preparing = hidden(path)
        unsafe unlink(preparing)  // of a process that was killed here
        guard unsafe withAddress(preparing, { unsafe bind(descriptor.raw, $0, $1) }) == 0 else {
            throw SystemCallError("bind", path)
        }
        guard unsafe chmod(preparing, 0o600) == 0, Glibc.listen(descriptor.raw, backlog) == 0,
            unsafe rename(preparing, path) == 0
        else {
            let error = SystemCallError("listen", path)
            unsafe unlink(preparing)
            throw error
        }
        return descriptor
    }

    /// The path with a dot instead of its name's first character, so that the length stays the same.
    private static func hidden(_ path: String) -> String {
        let end = path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex
        return path[..<end] + "." + path[end...].dropFirst()
    }

    /// Connects, and waits at most `timeoutSeconds` for each of the later steps.
    ///
    /// - Returns: `nil` if this failed; `errno` says why.
    package static func connect(to path: String, timeoutSeconds: Int) -> SharedDescriptor? {
        guard let descriptor = try? make(isBlocking: true) else { return nil }
        var timeout = timeval(tv_sec: timeoutSeconds, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        guard unsafe setsockopt(descriptor.raw, SOL_SOCKET, SO_RCVTIMEO, &timeout, size) == 0,
            unsafe setsockopt(descriptor.raw, SOL_SOCKET, SO_SNDTIMEO, &timeout, size) == 0,
            unsafe withAddress(path, { unsafe Glibc.connect(descriptor.raw, $0, $1) }) == 0
        else { return nil }  // a descriptor that closes well leaves errno as it is
        return descriptor
    }

    /// Whether a process listens at `path`. Does not block.
    package static func isAlive(_ path: String) -> Bool {
        guard let descriptor = try? make() else { return false }
        // A full queue is a living listener too.
        return unsafe withAddress(path, { unsafe Glibc.connect(descriptor.raw, $0, $1) }) == 0 || errno == EAGAIN
    }

    /// The process and the user at the other end; `nil` if the system does not tell.
    package static func peer(of descriptor: SharedDescriptor) -> (process: Int32, user: UInt32)? {
        // `struct ucred`, which the headers hide from Swift: process, user, group.
        var credentials: (process: Int32, user: UInt32, group: UInt32) = (0, .max, .max)
        var size = socklen_t(MemoryLayout<(Int32, UInt32, UInt32)>.size)
        let isKnown = unsafe getsockopt(descriptor.raw, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0
        return isKnown ? (credentials.process, credentials.user) : nil
    }

    private static func make(isBlocking: Bool = false) throws -> SharedDescriptor {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        let raw = socket(AF_UNIX, isBlocking ? type : type | Int32(SOCK_NONBLOCK.rawValue), 0)
        guard raw >= 0 else { throw SystemCallError("socket", "/") }
        return SharedDescriptor(raw)
    }

    /// Calls `body` with the address of `path`. A path that is too long, or has a NUL, fails.
    private static func withAddress(
        _ path: String,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
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
