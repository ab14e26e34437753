// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import IdentityClient
import Synchronization

/// One HTTP request to this machine, sent as a browser would send it, over its own connection.
///
/// The socket blocks, so the work runs on a system queue. Cancelling the task breaks the connection.
final class LoopbackVisit: Sendable {
    private struct State {
        var descriptor: Int32?
        var isCancelled = false
    }

    private static let maximumLength = 4 << 20
    private let state = Mutex(State())

    static func send(
        _ request: String,
        body: [UInt8],
        to address: LoopbackAddress,
        connected: @escaping @Sendable () -> Void = {}
    ) async throws -> ProviderResponse {
        let visit = LoopbackVisit()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                // Each visit gets its own queue and so its own thread. On shared threads, blocked visits would keep the
                // tasks that answer them from running.
                DispatchQueue(label: "identity.loopback-visit").async {
                    continuation.resume(with: Result { try visit.run(Array(request.utf8) + body, address, connected) })
                }
            }
        } onCancel: {
            visit.cancel()
        }
    }

    private func cancel() {
        state.withLock { state in
            state.isCancelled = true
            if let descriptor = state.descriptor { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    private func run(
        _ bytes: [UInt8],
        _ address: LoopbackAddress,
        _ connected: () -> Void
    ) throws -> ProviderResponse {
        let descriptor = try self.connected(to: address)
        connected()
        defer {
            state.withLock { state in
                state.descriptor = nil
                _ = Glibc.close(descriptor)
            }
        }
        try state.withLock { state in
            guard !state.isCancelled else { throw CancellationError() }
            state.descriptor = descriptor
        }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes {
                unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw broken() }
            rest = rest.dropFirst(count)
        }
        var received: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while received.count < Self.maximumLength {
            let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
            guard count >= 0 else { throw broken() }
            guard count > 0 else { break }
            received += buffer[..<count]
        }
        return try Self.response(received)
    }

    private func connected(to address: LoopbackAddress) throws -> Int32 {
        if address.host != "[::1]", let descriptor = Self.connect(ipv4: address.port) { return descriptor }
        if address.host == "localhost" || address.host == "[::1]", let descriptor = Self.connect(ipv6: address.port) {
            return descriptor
        }
        throw AuthenticationError(
            .connectionFailed,
            "Nothing listens on port \(address.port) of the loopback interface."
        )
    }

    private func broken() -> any Error {
        state.withLock { $0.isCancelled }
            ? CancellationError() : AuthenticationError(.connectionFailed, "The connection broke.")
    }

    private static func connect(ipv4 port: UInt16) -> Int32? {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return connect(AF_INET, address)
    }

    private static func connect(ipv6 port: UInt16) -> Int32? {
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_port = port.bigEndian
        address.sin6_addr = in6addr_loopback
        return connect(AF_INET6, address)
    }

    private static func connect<Address>(_ family: Int32, _ address: Address) -> Int32? {
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        // Longer than any sign-in in a test takes, so that nothing hangs forever.
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, size)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, size)
        let status = unsafe withUnsafeBytes(of: address) { bytes in
            unsafe Glibc.connect(
                descriptor,
                bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self),
                socklen_t(bytes.count)
            )
        }
        guard status == 0 else {
            _ = Glibc.close(descriptor)
            return nil
        }
        return descriptor
    }

    private static func response(_ bytes: [UInt8]) throws -> ProviderResponse {
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else {
            throw AuthenticationError(.connectionFailed, "The connection ended before the answer did.")
        }
        let head = String(decoding: bytes[..<end.lowerBound], as: UTF8.self)
        var lines = head.split(separator: "\r\n")
        let status =
            lines.isEmpty ? nil : lines.removeFirst().split(separator: " ").dropFirst().first.flatMap { Int($0) }
        let headers = lines.map { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            return (String(parts[0]), parts.count == 2 ? String(parts[1].drop { $0 == " " }) : "")
        }
        return ProviderResponse(status: status ?? 0, headers: headers, body: Array(bytes[end.upperBound...]))
    }
}
