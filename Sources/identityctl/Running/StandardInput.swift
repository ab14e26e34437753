// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc

/// The bytes that are piped into the program.
enum StandardInput {
    /// The largest input in bytes. Larger input belongs in a file, which is not held in memory.
    static let limit = 64 << 20

    /// Returns the whole input.
    ///
    /// - Throws: `UsageError` above 64 MiB, `SystemFailure`, `CancellationError`.
    static func whole() async throws -> [UInt8] {
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            try Task.checkCancellation()
            var readiness = pollfd(fd: 0, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&readiness, 1, 0) != 0 else {
                try await Task.sleep(for: .milliseconds(10))
                continue
            }
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe read(0, $0.baseAddress, $0.count) }
            if count == 0 { return content }
            if count < 0 {
                if errno == EINTR || errno == EAGAIN { continue }
                throw SystemFailure("Standard input could not be read", number: errno)
            }
            content += buffer[..<count]
            guard content.count <= limit else {
                throw UsageError("--data: more than 64 MiB came through standard input. Use --data @FILE.")
            }
        }
    }
}
