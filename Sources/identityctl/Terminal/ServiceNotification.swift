// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc

/// Tells the service manager about this process, if there is one that wants to know.
///
/// - SeeAlso: sd_notify(3)
enum ServiceNotification {
    /// - Parameter socket: The value of `NOTIFY_SOCKET`: a path, or `@` and the name of an abstract socket.
    /// - Returns: Whether a manager has the message. One that does not listen is no reason to fail.
    @discardableResult
    static func send(_ state: String, to socket: String?) -> Bool {
        guard let socket, socket.utf8.count > 1, ["/", "@"].contains(socket.first) else { return false }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let name = socket.first == "@" ? [0] + socket.utf8.dropFirst() : Array(socket.utf8)
        let isFitting = unsafe withUnsafeMutableBytes(of: &address.sun_path) { place in
            guard name.count < place.count else { return false }
            unsafe place.copyBytes(from: name)
            return true
        }
        let type = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = Glibc.socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        guard isFitting else { return false }
        let length = MemoryLayout<sockaddr_un>.size - MemoryLayout.size(ofValue: address.sun_path) + name.count
        let message = Array(state.utf8)
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe sendto(descriptor, message, message.count, Int32(MSG_NOSIGNAL), $0, socklen_t(length))
            }
        } == message.count
    }
}
