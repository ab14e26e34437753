// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient
import Synchronization
import SystemSupport

/// A reader of lines from standard input that occupies no thread while it waits.
final class LineReader: Sendable {
    /// The longest line in bytes. No redirect address is longer.
    static let limit = 64 << 10

    private let descriptor: Int32
    /// The beginning of an error: the thing that was not typed.
    private let missing: String
    private let suspension: Suspension?
    private let pending = Mutex((typed: [UInt8]()[...], line: TypedLine()))

    /// - Parameter terminal: The terminal that is quiet from now on.
    /// - Throws: `CancellationError`.
    init(
        descriptor: Int32 = 0,
        terminal: QuietTerminal? = nil,
        missing: String = "No address was pasted"
    ) async throws {
        self.descriptor = descriptor
        self.missing = missing
        suspension = if let terminal { try await Suspension(of: terminal) } else { nil }
        terminal?.makeQuiet()
    }

    /// Returns the next line, without its end.
    ///
    /// - Throws: `.userCancelled` at the end of the input, `CancellationError` if the task is cancelled,
    ///   `.interactionTimedOut` at the deadline, `UsageError` for a line above 64 KiB.
    func next(until deadline: ContinuousClock.Instant) async throws -> String {
        while true {
            if let line = try takeLine() { return line }
            try await waitUntilReadable(until: deadline)
            guard fill() else {
                guard let line = takeRest() else { throw ended }
                return line
            }
        }
    }

    private func takeLine() throws -> String? {
        try pending.withLock { state in
            while let byte = state.typed.popFirst() {
                switch state.line.type(byte) {
                case .none: continue
                case .endOfInput: throw ended
                case .ended:
                    defer { state.line = TypedLine() }
                    return String(decoding: state.line.bytes, as: UTF8.self)
                }
            }
            guard state.line.bytes.count <= Self.limit else {
                throw UsageError("The pasted line is longer than 64 KiB.")
            }
            return nil
        }
    }

    private var ended: AuthenticationError {
        AuthenticationError(.userCancelled, "\(missing): the input has ended.")
    }

    /// Returns the text after the end of the last line.
    private func takeRest() -> String? {
        pending.withLock { state in
            defer { state.line = TypedLine() }
            return state.line.bytes.isEmpty ? nil : String(decoding: state.line.bytes, as: UTF8.self)
        }
    }

    /// Looks for input every 50 ms. A person who types does not notice the delay, and no thread or handler remains
    /// afterwards.
    private func waitUntilReadable(until deadline: ContinuousClock.Instant) async throws {
        while true {
            try Task.checkCancellation()
            suspension?.makeQuiet()
            if Poll.isReady(descriptor) { return }
            guard ContinuousClock.now < deadline else {
                throw AuthenticationError(.interactionTimedOut, "\(missing) in time.")
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// - Returns: `false` at the end of the input.
    private func fill() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = unsafe buffer.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
        guard count > 0 else { return count < 0 && (errno == EINTR || errno == EAGAIN) }
        pending.withLock { $0.typed = buffer[..<count] }
        return true
    }
}
