// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityTestSupport

/// A socket on which services tell their state, as systemd has one.
final class ServiceManager: Sendable {
    /// The value of `NOTIFY_SOCKET`.
    let name: String
    private let descriptor: Int32

    /// - Parameter name: A path, or `@` and the name of an abstract socket.
    init(_ name: String) throws {
        self.name = name
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = name.hasPrefix("@") ? [0] + name.utf8.dropFirst() : Array(name.utf8)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        let result = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe bind(descriptor, $0, length) }
        }
        try CallFailed.check(result, "bind")
    }

    deinit {
        close(descriptor)
    }

    /// Returns the next message that has arrived.
    func message() -> String? {
        var buffer = [UInt8](repeating: 0, count: 512)
        let count = unsafe recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        return count < 0 ? nil : String(decoding: buffer[..<count], as: UTF8.self)
    }
}
