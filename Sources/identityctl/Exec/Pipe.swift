// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import SystemSupport

/// A pipe from a program that this process starts.
struct Pipe: ~Copyable {
    let reading: Int32
    let writing: Int32
    private var isWritable = true
    private var isReadable = true

    /// The end to read from; -1 once all is read.
    var open: Int32 { isReadable ? reading : -1 }

    /// - Parameter blocks: Whether reading waits.
    init(blocks: Bool = false) throws {
        guard let ends = SystemCall.pipe() else { throw SystemFailure("No pipe could be made", number: errno) }
        (reading, writing) = ends
        if !blocks { _ = fcntl(reading, F_SETFL, O_NONBLOCK) }
    }

    deinit {
        close(reading)
        if isWritable { close(writing) }
    }

    mutating func closeWriting() {
        if isWritable { close(writing) }
        isWritable = false
    }

    /// Writes a few lines, which nothing needs to read yet.
    func write(_ bytes: [UInt8]) throws {
        let count = unsafe Glibc.write(writing, bytes, bytes.count)
        guard count == bytes.count else {
            throw SystemFailure("A pipe could not be written", number: errno)
        }
    }

    /// Reads what is there.
    mutating func read(into bytes: inout [UInt8], atMost limit: Int) throws {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while isReadable {
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe Glibc.read(reading, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                isReadable = count < 0 && errno == EAGAIN
                return
            }
            bytes += buffer[..<count]
            guard bytes.count <= limit else { throw SystemFailure("A program wrote more than \(limit) bytes.") }
        }
    }
}
