// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import LoopbackHTTP

/// An event for a worker: a byte on standard input, or the end of a round.
enum WorkerEvent: Sendable {
    /// Another caller starts, beside those that still wait.
    case go
    /// The first caller that is not yet cancelled gives up.
    case cancel
    /// A caller that waits at a point goes on.
    case goOn
    case ended

    static let bytes = (go: UInt8(ascii: "\n"), cancel: UInt8(0x18), goOn: UInt8(0x11))

    /// Reads standard input on its own thread. The events end when the input ends.
    static func read(into inbox: AsyncStream<WorkerEvent>.Continuation) throws {
        try DetachedThread.start {
            var byte: UInt8 = 0
            while true {
                let count = unsafe Glibc.read(0, &byte, 1)
                if count < 0, errno == EINTR { continue }
                guard count == 1 else { break }
                switch byte {
                case bytes.cancel: inbox.yield(.cancel)
                case bytes.goOn: inbox.yield(.goOn)
                default: inbox.yield(.go)
                }
            }
            inbox.finish()
        }
    }
}
