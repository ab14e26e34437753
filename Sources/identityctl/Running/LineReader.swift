// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient
import Synchronization

/// Reads lines from standard input, without keeping a task's thread while it waits.
final class LineReader: Sendable {
    /// No address of a redirect is longer.
    static let limit = 64 << 10

    private let descriptor: Int32
    private let pending = Mutex<[UInt8]>([])

    init(descriptor: Int32 = 0) {
        self.descriptor = descriptor
    }

    /// The next line, without its end.
    ///
    /// - Throws: `CancellationError` at the end of the input and when the task is cancelled, `.interactionTimedOut` at
    ///   the deadline, `UsageError` for a line above 64 KiB.
    func next(until deadline: ContinuousClock.Instant) async throws -> String {
        while true {
            if let line = try takeLine(atEnd: false) { return line }
            try await waitUntilReadable(until: deadline)
            guard try fill() else {
                guard let line = try takeLine(atEnd: true) else { throw CancellationError() }
                return line
            }
        }
    }

    private func takeLine(atEnd: Bool) throws -> String? {
        try pending.withLock { bytes in
            guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) ?? (atEnd && !bytes.isEmpty ? bytes.count : nil)
            else {
                guard bytes.count <= Self.limit else { throw UsageError("The pasted line is longer than 64 KiB.") }
                return nil
            }
            let line = String(decoding: bytes[..<end], as: UTF8.self)
            bytes.removeFirst(min(end + 1, bytes.count))
            return line
        }
    }

    /// Looks every 50 ms: a person types, so that nobody notices, and nothing is left behind when it ends.
    private func waitUntilReadable(until deadline: ContinuousClock.Instant) async throws {
        while true {
            try Task.checkCancellation()
            var readiness = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            if unsafe poll(&readiness, 1, 0) != 0 { return }
            guard ContinuousClock.now < deadline else {
                throw AuthenticationError(.interactionTimedOut, "No address was pasted in time.")
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// - Returns: `false` at the end of the input.
    private func fill() throws -> Bool {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = unsafe buffer.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
        guard count > 0 else { return count < 0 && (errno == EINTR || errno == EAGAIN) }
        pending.withLock { $0 += buffer[..<count] }
        return true
    }
}
