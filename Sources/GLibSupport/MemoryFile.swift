// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CGIO
import Glibc

/// An unnamed file in memory, to which another program writes. The system wipes it when it is released.
package final class MemoryFile: Sendable {
    package let number: Int32

    /// Creates an empty file; `nil` if the process has no file descriptor left.
    package init?() {
        number = cgio_memory_file()
        guard number >= 0 else { return nil }
    }

    deinit {
        if number >= 0 { close(number) }
    }

    /// The first 4096 bytes of the content.
    package var bytes: [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe pread(number, $0.baseAddress, $0.count, 0) }
        return Array(bytes.prefix(max(0, count)))
    }
}
