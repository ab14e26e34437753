// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import SystemSupport

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
    static func write(_ bytes: [UInt8], to descriptor: Int32, named name: String = "Standard output") throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if count < 0, errno == EAGAIN {
                // Another program made the stream non-blocking, for example a shared terminal.
                _ = Poll.isReady(descriptor, POLLOUT, before: .now + .seconds(1))
            } else if count == 0 || errno != EINTR {
                throw SystemFailure("\(name) could not be written", number: errno)
            }
        }
    }
}

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
            guard Poll.isReady(0) else {
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
                throw UsageError("More than 64 MiB came through standard input. Give a file.")
            }
        }
    }
}

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
