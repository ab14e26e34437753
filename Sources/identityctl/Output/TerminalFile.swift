// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc

/// A terminal that is open for writing.
final class TerminalFile: Sendable {
    let descriptor: Int32

    /// - Returns: `nil` if `path` is not a terminal. To find that out, only a device is opened, because the reader of a
    ///   FIFO would see an end.
    init?(_ path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFCHR else { return nil }
        descriptor = unsafe open(path, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        guard isatty(descriptor) == 1 else { return nil }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }
}
