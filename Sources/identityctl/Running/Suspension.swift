// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Synchronization

/// Gives a quiet terminal its usual mode back while Ctrl-Z has stopped the program: not every shell does so itself (dash).
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

    /// Makes the terminal quiet again after the program went on.
    func hush() {
        terminal.withLock { $0.hush() }
    }

    /// Nothing makes the terminal quiet between the two: the lock is held until the program goes on.
    private func stop() {
        terminal.withLock {
            $0.restore()
            _ = raise(SIGSTOP)
        }
    }
}
