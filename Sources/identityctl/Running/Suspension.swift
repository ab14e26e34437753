// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Synchronization

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
    func hush() {
        terminal.withLock { $0.hush() }
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
