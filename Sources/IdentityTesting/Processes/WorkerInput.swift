// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import LoopbackHTTP

/// What comes in on standard input, read on a thread of its own.
enum WorkerInput {
    /// One element for each byte; ends with the input.
    static func bytes() throws -> AsyncStream<UInt8> {
        let (stream, continuation) = AsyncStream.makeStream(of: UInt8.self)
        try DetachedThread.start {
            var byte: UInt8 = 0
            while true {
                let count = unsafe read(0, &byte, 1)
                if count < 0, errno == EINTR { continue }
                guard count == 1 else { break }
                continuation.yield(byte)
            }
            continuation.finish()
        }
        return stream
    }
}
