// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

/// A terminal without a screen.
struct PseudoTerminal {
    /// The person's side.
    let keyboard: FileHandle
    /// The program's side.
    let terminal: FileHandle

    init() throws {
        let keyboard = unsafe open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var isLocked: CInt = 0
        var number: CUnsignedInt = 0
        // TIOCSPTLCK and TIOCGPTN, which the module map omits.
        try #require(unsafe ioctl(keyboard, 0x4004_5431, &isLocked) == 0)
        try #require(unsafe ioctl(keyboard, 0x8004_5430, &number) == 0)
        let terminal = unsafe open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
        try #require(terminal >= 0)
        self.keyboard = FileHandle(fileDescriptor: keyboard, closeOnDealloc: true)
        self.terminal = FileHandle(fileDescriptor: terminal, closeOnDealloc: true)
    }

    var mode: termios {
        get throws {
            var mode = termios()
            try #require(unsafe tcgetattr(terminal.fileDescriptor, &mode) == 0)
            return mode
        }
    }

    func set(_ mode: termios) throws {
        var mode = mode
        try #require(unsafe tcsetattr(terminal.fileDescriptor, TCSANOW, &mode) == 0)
    }

    /// Whether the terminal echoes input and delivers it line by line.
    var isUsual: Bool {
        guard let mode = try? mode else { return false }
        return mode.c_lflag & tcflag_t(ICANON | ECHO) == tcflag_t(ICANON | ECHO)
    }

    /// A second handle of the program's side, for its output.
    var path: String { "/proc/self/fd/\(terminal.fileDescriptor)" }

    /// Returns the program's unread output.
    func shown() -> String {
        var bytes: [UInt8] = []
        var readiness = pollfd(fd: keyboard.fileDescriptor, events: Int16(POLLIN), revents: 0)
        var buffer = [UInt8](repeating: 0, count: 4096)
        // A file handle would wait for a full buffer.
        while unsafe poll(&readiness, 1, 0) > 0 {
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe read(readiness.fd, $0.baseAddress, $0.count) }
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    func type(_ text: String) throws {
        try keyboard.write(contentsOf: Data(text.utf8))
    }
}
