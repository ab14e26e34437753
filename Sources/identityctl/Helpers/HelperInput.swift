// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc

/// The request that a program writes to its helper's standard input.
enum HelperInput {
    /// The largest request in bytes.
    static let limit = 1 << 20

    /// Returns the input up to an empty line, or up to its end.
    ///
    /// - Throws: `UsageError` for a request that is too large or not complete within `timeout`, `SystemFailure`.
    static func request(endsAtEmptyLine: Bool, within timeout: Duration = .seconds(30)) throws -> [UInt8] {
        let deadline = ContinuousClock.now + timeout
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            guard ContinuousClock.now < deadline else { throw UsageError("The request on standard input did not end.") }
            var readiness = pollfd(fd: 0, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&readiness, 1, 1000) > 0 else { continue }
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe read(0, $0.baseAddress, $0.count) }
            if count == 0 { return content }
            if count < 0 {
                if errno == EINTR || errno == EAGAIN { continue }
                throw SystemFailure("Standard input could not be read", number: errno)
            }
            content += buffer[..<count]
            guard content.count <= limit else { throw UsageError("The request is larger than 1 MiB.") }
            if endsAtEmptyLine, content.suffix(2) == [0x0A, 0x0A] || content == [0x0A] { return content }
        }
    }
}
