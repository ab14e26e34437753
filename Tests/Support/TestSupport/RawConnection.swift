// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import LoopbackHTTP
import SystemSupport

/// A client that can misbehave: it sends exactly the bytes that the test names.
package final class RawConnection: Sendable {
    package struct Failure: Error {
        package var call: String
        package var errno: Int32
    }

    private let raw: Int32

    package init(port: UInt16, overIPv6: Bool = false) throws {
        raw = socket(overIPv6 ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        // A test that waits in vain fails instead of hanging.
        var timeout = timeval(tv_sec: 20, tv_usec: 0)
        unsafe setsockopt(raw, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        var on: Int32 = 1
        unsafe setsockopt(raw, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        let status: Int32
        if overIPv6 {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            address.sin6_addr = in6addr_loopback
            status = unsafe withUnsafePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe connect(raw, $0, socklen_t(MemoryLayout<sockaddr_in6>.size))
                }
            }
        } else {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            status = unsafe withUnsafePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe connect(raw, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        }
        guard status == 0 else { throw Failure(call: "connect", errno: errno) }
    }

    deinit {
        close(raw)
    }

    /// From now on, closing resets the connection and leaves nothing behind.
    package func resetsWhenClosed() {
        var option = linger(l_onoff: 1, l_linger: 0)
        unsafe setsockopt(raw, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    /// Sends all bytes, or as many as the other side accepts before it closes the connection.
    package func send(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes {
                unsafe Glibc.send(raw, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    package func send(_ text: String) {
        send(Array(text.utf8))
    }

    /// Returns everything that arrives until the other side closes the connection, or until `isEnough`.
    package func receive(until isEnough: @escaping @Sendable ([UInt8]) -> Bool = { _ in false }) async throws -> String
    {
        try await withCheckedThrowingContinuation { continuation in
            do {
                try DetachedThread.start { [self] in
                    var received: [UInt8] = []
                    var buffer = [UInt8](repeating: 0, count: 4096)
                    while !isEnough(received) {
                        let count = unsafe recv(raw, &buffer, buffer.count, 0)
                        if count < 0 {
                            continuation.resume(throwing: Failure(call: "recv", errno: errno))
                            return
                        }
                        if count == 0 { break }
                        received += buffer[..<count]
                    }
                    continuation.resume(returning: String(decoding: received, as: UTF8.self))
                }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    /// Returns the next bytes up to and including `ending`.
    package func receive(endingWith ending: String) async throws -> String {
        try await receive { $0.reversed().starts(with: ending.utf8.reversed()) }
    }
}

/// Sends one request on a new connection and returns the whole answer.
package func exchange(_ request: String, port: UInt16, overIPv6: Bool = false) async throws -> String {
    let connection = try RawConnection(port: port, overIPv6: overIPv6)
    connection.send(request)
    return try await connection.receive()
}

/// Waits for `condition`, for 10 s at most.
package func eventually(_ condition: () async throws -> Bool) async throws -> Bool {
    let deadline = ContinuousClock.now + .seconds(10)
    while ContinuousClock.now < deadline {
        if try await condition() { return true }
        try await Task.sleep(for: .milliseconds(5))
    }
    return false
}

/// Whether this machine has the address `::1`. Containers often lack it.
package let machineHasIPv6 = (try? LoopbackServer.start(hosts: [.ipv6]) { _ in .dropped }) != nil
