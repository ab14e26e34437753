// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient
import LoopbackHTTP
import SystemSupport

/// The sockets of an agent.
enum AgentSocket {
    /// The socket that takes `lock`, `unlock`, `stop`. It is not forwarded, so no other machine can unlock an agent.
    static func controlPath(_ path: String) -> String { path + ".control" }

    /// The listening sockets that systemd passes to this process, with their names; none if it passes none.
    ///
    /// - Parameter variable: Returns the value of a variable.
    /// - SeeAlso: sd_listen_fds_with_names(3)
    static func activated(_ variable: (String) -> String?) throws -> [(name: String, socket: SharedDescriptor)] {
        guard let process = variable("LISTEN_PID"), Int32(process) == getpid() else { return [] }
        let names = variable("LISTEN_FDNAMES")?.split(separator: ":", omittingEmptySubsequences: false) ?? []
        let count = variable("LISTEN_FDS").flatMap { Int($0) } ?? 0
        return try (0..<max(0, min(count, 1024))).map { index in
            let raw = Int32(3 + index)
            var isListening: Int32 = 0
            var size = socklen_t(MemoryLayout<Int32>.size)
            guard unsafe getsockopt(raw, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &size) == 0, isListening == 1,
                fcntl(raw, F_SETFD, FD_CLOEXEC) == 0, fcntl(raw, F_SETFL, O_NONBLOCK) == 0
            else { throw SystemFailure("systemd passed no listening socket. Look at the socket units.") }
            return (index < names.count ? String(names[index]) : "", SharedDescriptor(raw))
        }
    }

    /// The path that a listening socket is bound to.
    static func path(of socket: SharedDescriptor) -> String? {
        var address = sockaddr_un()
        var size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(socket.raw, $0, &size)
            }
        }
        guard result == 0, Int32(address.sun_family) == AF_UNIX else { return nil }
        let bytes = unsafe withUnsafeBytes(of: &address.sun_path) { unsafe $0.prefix { $0 != 0 }.map { $0 } }
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }

    /// Connects, and waits at most `seconds` for each of the later steps.
    ///
    /// - Returns: `nil` if no process of this user, or of root, listens at `path`; `errno` says why.
    static func connected(to path: String, seconds: Int) -> SharedDescriptor? {
        guard let socket = UnixSocket.connect(to: path, timeoutSeconds: seconds) else { return nil }
        // A token from another user's agent could be a trap. sshd, which forwards, may run as root.
        guard let user = AgentPeer(of: socket)?.user, user == geteuid() || user == 0 else {
            errno = EPERM
            return nil
        }
        return socket
    }
}
