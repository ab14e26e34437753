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
        let keyboard = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)
        try #require(keyboard >= 0 && grantpt(keyboard) == 0 && unlockpt(keyboard) == 0)
        var name = [CChar](repeating: 0, count: 128)
        try #require(unsafe ptsname_r(keyboard, &name, name.count) == 0)
        let terminal = unsafe open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)
        try #require(terminal >= 0)
        self.keyboard = FileHandle(fileDescriptor: keyboard, closeOnDealloc: true)
        self.terminal = FileHandle(fileDescriptor: terminal, closeOnDealloc: true)
    }

    /// Whether what is typed is shown, and handed over line by line.
    var isUsual: Bool {
        var mode = termios()
        guard unsafe tcgetattr(terminal.fileDescriptor, &mode) == 0 else { return false }
        return mode.c_lflag & tcflag_t(ICANON | ECHO) == tcflag_t(ICANON | ECHO)
    }

    func type(_ text: String) throws {
        try keyboard.write(contentsOf: Data(text.utf8))
    }
}
