// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
package import SystemSupport

/// A client at one of the sockets that listen, or none.
package enum Acceptance {
    /// A client's connection, which never blocks; the peer is `nil` at a socket in the file system.
    case connection(SharedDescriptor, from: LoopbackPeer?)
    case none
    /// The process or the system has no room for another descriptor.
    case exhausted

    /// The next client at any of the sockets. Clients of another computer are turned away.
    ///
    /// - Parameter admitsOtherUsers: Whether a socket in the file system takes programs of other users.
    package static func next(at listeners: [SharedDescriptor], admitsOtherUsers: Bool) -> Acceptance {
        for listener in listeners {
            var peer = LoopbackAddress()
            var length = peer.length
            let raw = unsafe peer.withMutablePointer { unsafe Glibc.accept(listener.raw, $0, &length) }
            if raw >= 0 {
                let descriptor = SharedDescriptor(raw)
                // `accept4` is not visible to Swift. A child that starts in between keeps the socket, but our
                // `shutdown` still ends the connection.
                guard fcntl(raw, F_SETFD, FD_CLOEXEC) == 0, fcntl(raw, F_SETFL, O_NONBLOCK) == 0 else { continue }
                if peer.isLoopback, let peer = LoopbackPeer(of: descriptor, at: peer) {
                    return .connection(descriptor, from: peer)
                }
                if peer.isUnix, admitsOtherUsers || UnixSocket.peer(of: descriptor)?.user == geteuid() {
                    return .connection(descriptor, from: nil)
                }
            } else if [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno) {
                return .exhausted
            }
        }
        return .none
    }
}
