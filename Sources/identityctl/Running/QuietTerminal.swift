// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Synchronization

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
        set(quiet)
    }

    /// Makes the terminal quiet again. A shell that stops and continues the program sets the shell's own mode.
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

    enum Change: Hashable {
        case none, ended, endOfInput
    }

    mutating func type(_ byte: UInt8) -> Change {
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
}

/// A handler of Ctrl-Z that restores a quiet terminal's usual mode while the program is stopped. Some shells, such as
/// dash, do not restore it themselves.
final class Suspension: Sendable {
    private let terminal: Mutex<QuietTerminal>
    private let source: Mutex<any DispatchSourceSignal>

    init(of terminal: QuietTerminal) {
        self.terminal = Mutex(terminal)
        let queue = DispatchQueue(label: "identityctl.suspension")
        source = Mutex(DispatchSource.makeSignalSource(signal: SIGTSTP, queue: queue))
        _ = signal(SIGTSTP, SIG_IGN)
        source.withLock {
            $0.setEventHandler { [weak self] in self?.stop() }
            $0.resume()
        }
    }

    deinit {
        source.withLock { $0.cancel() }
        _ = signal(SIGTSTP, SIG_DFL)
    }

    /// Makes the terminal quiet again after the program continues.
    func makeQuiet() {
        terminal.withLock { $0.makeQuiet() }
    }

    /// Restores the terminal and stops the program. The lock is held until the program continues, so that nothing makes
    /// the terminal quiet in between.
    private func stop() {
        terminal.withLock {
            $0.restore()
            _ = raise(SIGSTOP)
        }
    }
}
