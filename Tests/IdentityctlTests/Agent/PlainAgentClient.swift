// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import OAuthWire

/// A client of oidc-agent's plain form, which shares no code with ours: it sends exactly the bytes of the test.
final class PlainAgentClient: Sendable {
    private let raw: Int32

    init(_ path: String) throws {
        raw = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var timeout = timeval(tv_sec: 20, tv_usec: 0)
        unsafe setsockopt(raw, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
        let status = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(raw, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard status == 0 else { throw POSIXError(.ECONNREFUSED) }
    }

    deinit {
        close(raw)
    }

    func send(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes {
                unsafe Glibc.send(raw, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// Sends no more; the other direction stays open.
    func shutDown() {
        shutdown(raw, Int32(SHUT_WR))
    }

    /// Returns everything until the other side closes the connection, or a number of bytes. Blocks a thread of its own.
    func answer(bytes: Int = .max) async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { [self] in
                var received: [UInt8] = []
                var buffer = [UInt8](repeating: 0, count: 4096)
                while received.count < bytes {
                    let count = unsafe recv(raw, &buffer, buffer.count, 0)
                    if count < 0, errno != ECONNRESET { return continuation.resume(throwing: POSIXError(.ETIMEDOUT)) }
                    guard count > 0 else { break }
                    received += buffer[..<count]
                }
                continuation.resume(returning: String(decoding: received, as: UTF8.self))
            }
        }
    }

    /// Sends one text on a new connection, and reads the answer as JSON.
    static func ask(_ path: String, _ text: String) async throws -> JSONObject {
        let client = try PlainAgentClient(path)
        client.send(text)
        return try JSONObject(parsing: Array(try await client.answer().utf8))
    }
}
