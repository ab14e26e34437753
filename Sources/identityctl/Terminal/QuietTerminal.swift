// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Synchronization
import SystemSupport

/// A terminal that hands over typed text at once, without showing it.
///
/// In its usual mode, a terminal cuts lines after 4,095 characters. At some providers, addresses that contain a code
/// are longer. Pasted text is not shown, so that it does not stay on the screen.
struct QuietTerminal: Sendable {
    private let descriptor: Int32
    private let usual: termios
    private let quiet: termios

    /// - Returns: `nil` if `descriptor` is not a terminal.
    init?(_ descriptor: Int32) {
        var current = termios()
        guard unsafe tcgetattr(descriptor, &current) == 0 else { return nil }
        self.descriptor = descriptor
        usual = current
        current.c_lflag &= ~Self.echo
        quiet = current
    }

    /// Makes the terminal quiet, also again: a shell that stops and continues the program sets the shell's own mode.
    func makeQuiet() {
        var current = termios()
        guard unsafe tcgetattr(descriptor, &current) == 0, current.c_lflag & Self.echo != 0 else { return }
        // In the background the terminal belongs to the shell, and setting its mode would stop the program.
        let foreground = tcgetpgrp(descriptor)
        if foreground < 0 || foreground == getpgrp() { set(quiet) }
    }

    /// Restores the terminal's usual mode.
    func restore() {
        set(usual)
    }

    private static let echo = tcflag_t(ICANON | ECHO)

    private func set(_ mode: termios) {
        var mode = mode
        unsafe tcsetattr(descriptor, TCSANOW, &mode)
    }
}

/// A line that the program edits itself, because a quiet terminal does not.
struct TypedLine {
    private(set) var bytes: [UInt8] = []
    /// The beginning of an escape sequence: what a key such as Left sends, and the brackets around a paste.
    private var escape: [UInt8] = []

    enum Change: Hashable {
        case none, ended, endOfInput
    }

    mutating func type(_ byte: UInt8) -> Change {
        guard !isEscape(byte) else { return .none }
        switch byte {
        case UInt8(ascii: "\n"), UInt8(ascii: "\r"): return .ended
        case 0x04: return bytes.isEmpty ? .endOfInput : .none  // Ctrl-D
        case 0x15: bytes = []  // Ctrl-U
        case 0x7F, 0x08: if !bytes.isEmpty { bytes.removeLast() }
        case 0x20...: bytes.append(byte)
        default: break
        }
        return .none
    }

    /// Whether a byte belongs to an escape sequence, which is no part of the line. The line's end ends a sequence too.
    /// - SeeAlso: [ECMA-48](https://ecma-international.org/publications-and-standards/standards/ecma-48/), 5.4
    private mutating func isEscape(_ byte: UInt8) -> Bool {
        switch (escape.count, byte) {
        case (_, 0x1B): escape = [byte]
        case (0, _): return false
        case (1, UInt8(ascii: "[")), (1, UInt8(ascii: "O")): escape.append(byte)
        case (2..., 0x20...0x3F) where escape.count < 16: escape.append(byte)
        case (2..., 0x40...0x7E): escape = []
        default:
            escape = []
            return false
        }
        return true
    }
}

/// A handler of Ctrl-Z that restores a quiet terminal's usual mode while the program is stopped. Some shells, such as
/// dash, do not restore it themselves.
final class Suspension: Sendable {
    /// The terminal that is quiet now. The lock is held while the program is stopped, so that nothing makes the terminal
    /// quiet meanwhile.
    private static let terminal = Mutex<QuietTerminal?>(nil)
    /// One for the whole process: libdispatch installs its handler of a signal once, and no later source would get it
    /// back after it was replaced.
    private static let source = Mutex(watch())
    private static let begun = Promise<Void>()

    /// Returns when the handler is in place, and only then the terminal may become quiet: Ctrl-Z would leave it so.
    init(of terminal: QuietTerminal) async throws {
        Self.source.withLock { _ = $0 }
        try await Self.begun.value()
        Self.terminal.withLock { $0 = terminal }
    }

    deinit {
        Self.terminal.withLock { $0 = nil }
    }

    /// Makes the terminal quiet again after the program continues.
    func makeQuiet() {
        Self.terminal.withLock { $0?.makeQuiet() }
    }

    private static func watch() -> (any DispatchSourceSignal)? {
        guard !Signals.isIgnored(SIGTSTP) else {
            begun.finish(.success(()))
            return nil
        }
        let source = DispatchSource.makeSignalSource(
            signal: SIGTSTP,
            queue: DispatchQueue(label: "identityctl.suspension")
        )
        source.setEventHandler {
            terminal.withLock {
                $0?.restore()
                _ = raise(SIGSTOP)
            }
        }
        source.setRegistrationHandler { begun.finish(.success(())) }
        source.resume()
        return source
    }
}
