// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient
import LoopbackHTTP
import SystemSupport

/// The sockets of an agent.
enum AgentSocket {
    /// The default socket, in the directory that the system makes for each person's session.
    ///
    /// - Throws: `UsageError` where there is no such directory.
    static func defaultPath(_ environment: Variables) throws -> String {
        guard let directory = environment.runtimeDirectory else {
            throw UsageError("XDG_RUNTIME_DIR is not set here, so the agent's socket has no place. Give --socket PATH.")
        }
        return "\(directory)/identityctl/agent.sock"
    }

    /// The socket that takes `lock`, `unlock`, `stop`. It is not forwarded, so no other machine can unlock an agent.
    static func controlPath(_ path: String) -> String { path + ".control" }

    /// The listening socket that systemd passes to this process; `nil` if it passes none.
    ///
    /// - SeeAlso: sd_listen_fds(3)
    static func activated(_ environment: Variables) throws -> SharedDescriptor? {
        guard let process = environment["LISTEN_PID"], Int32(process) == getpid() else { return nil }
        guard environment["LISTEN_FDS"] == "1" else {
            throw SystemFailure("systemd passed other than one socket. Look at the agent's socket unit.")
        }
        var isListening: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard unsafe getsockopt(3, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &size) == 0, isListening == 1,
            fcntl(3, F_SETFD, FD_CLOEXEC) == 0, fcntl(3, F_SETFL, O_NONBLOCK) == 0
        else { throw SystemFailure("systemd passed no listening socket. Look at the agent's socket unit.") }
        return SharedDescriptor(3)
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
