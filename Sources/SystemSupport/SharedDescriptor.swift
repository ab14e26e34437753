// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc

/// A ``Descriptor``, a socket for example, that tasks and threads share. The last of them closes it.
package final class SharedDescriptor: Sendable {
    private let descriptor: Descriptor

    package init(_ raw: Int32) {
        descriptor = Descriptor(raw)
    }

    package var raw: Int32 { descriptor.number }

    /// A connected pair: close-on-exec, and neither end ever blocks.
    package static func pair() throws -> (reading: SharedDescriptor, writing: SharedDescriptor) {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        guard unsafe socketpair(AF_UNIX, type, 0, &ends) == 0 else {
            throw SystemCallError("socketpair", "/")
        }
        return (SharedDescriptor(ends[0]), SharedDescriptor(ends[1]))
    }

    package enum Transfer {
        case bytes(Int)
        case wouldBlock
        case ended
    }

    /// Reads the bytes that have arrived at a socket, at most `buffer.count`.
    package func receive(into buffer: inout [UInt8]) -> Transfer {
        while true {
            let count = unsafe recv(raw, &buffer, buffer.count, 0)
            if count > 0 { return .bytes(count) }
            if count == 0 { return .ended }
            if errno == EINTR { continue }
            return errno == EAGAIN ? .wouldBlock : .ended
        }
    }

    /// Writes bytes to a socket. A broken connection is a result, never a signal.
    package func send(_ bytes: ArraySlice<UInt8>) -> Transfer {
        while true {
            let count = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.send(raw, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count >= 0 { return .bytes(count) }
            if errno == EINTR { continue }
            return errno == EAGAIN ? .wouldBlock : .ended
        }
    }
}
