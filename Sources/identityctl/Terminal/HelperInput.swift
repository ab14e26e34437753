// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import SystemSupport

/// The request that a program writes to its helper's standard input.
enum HelperInput {
    /// The largest request in bytes.
    static let limit = 1 << 20

    /// A program's requests, one on a line.
    struct Lines {
        private var rest: [UInt8] = []

        /// Returns the next line without its end, or `nil` at the end of the input.
        ///
        /// - Throws: As `request(endsAtEmptyLine:within:)`.
        mutating func next(within timeout: Duration = .seconds(30)) throws -> [UInt8]? {
            let deadline = ContinuousClock.now + timeout
            while true {
                if let end = rest.firstIndex(of: 0x0A) {
                    defer { rest.removeSubrange(...end) }
                    return Array(rest[..<end])
                }
                guard let bytes = try HelperInput.bytes(before: deadline) else {
                    defer { rest = [] }
                    return rest.isEmpty ? nil : rest
                }
                rest += bytes
                guard rest.count <= HelperInput.limit else { throw UsageError("The request is larger than 1 MiB.") }
            }
        }
    }

    /// Returns the input up to an empty line, or up to its end.
    ///
    /// - Throws: `UsageError` for a request that is too large or not complete within `timeout`, `SystemFailure`.
    static func request(endsAtEmptyLine: Bool, within timeout: Duration = .seconds(30)) throws -> [UInt8] {
        let deadline = ContinuousClock.now + timeout
        var content: [UInt8] = []
        while let next = try bytes(before: deadline) {
            content += next
            guard content.count <= limit else { throw UsageError("The request is larger than 1 MiB.") }
            if endsAtEmptyLine, content.suffix(2) == [0x0A, 0x0A] || content == [0x0A] { break }
        }
        return content
    }

    /// Returns the bytes that come next, or `nil` at the end of the input.
    private static func bytes(before deadline: ContinuousClock.Instant) throws -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            guard ContinuousClock.now < deadline else { throw UsageError("The request on standard input did not end.") }
            guard Poll.isReady(0, before: deadline) else { continue }
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe read(0, $0.baseAddress, $0.count) }
            if count == 0 { return nil }
            if count < 0 {
                if errno == EINTR || errno == EAGAIN { continue }
                throw SystemFailure("Standard input could not be read", number: errno)
            }
            return Array(buffer[..<count])
        }
    }
}
