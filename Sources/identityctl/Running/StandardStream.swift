// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc

/// Standard output or standard error, unbuffered.
enum StandardStream: Int32, Sendable {
    case output = 1
    case error = 2

    /// Opens each of standard input, output and error that the caller has closed, before another file gets its number.
    ///
    /// Reading there yields nothing, and writing there fails, because a result without a reader is an error.
    static func fillClosed() {
        for number in Int32(0)...2 where fcntl(number, F_GETFD) < 0 { _ = unsafe open("/dev/null", O_RDONLY) }
    }

    var isTerminal: Bool { isatty(rawValue) == 1 }

    /// The number of characters in a line of the terminal; 80 if the terminal does not say.
    var columns: Int {
        var window = winsize()
        let isKnown = unsafe ioctl(rawValue, UInt(TIOCGWINSZ), &window) == 0
        return isKnown && window.ws_col > 0 ? Int(window.ws_col) : 80
    }

    /// Writes all of `text`.
    ///
    /// - Throws: `SystemFailure` if the other side is gone or the disk is full.
    func write(_ text: String) throws {
        try write(Array(text.utf8))
    }

    /// Writes all of `bytes`.
    func write(_ bytes: [UInt8]) throws {
        try Self.write(bytes, to: rawValue)
    }

    /// Writes all of `bytes` to any open descriptor.
    static func write(_ bytes: [UInt8], to descriptor: Int32) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if count < 0, errno == EAGAIN {
                // Another program made the stream non-blocking, for example a shared terminal.
                var readiness = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = unsafe poll(&readiness, 1, 1000)
            } else if count == 0 || errno != EINTR {
                throw SystemFailure("Standard output could not be written", number: errno)
            }
        }
    }
}
