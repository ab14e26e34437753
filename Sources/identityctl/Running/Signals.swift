// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

/// Notices that the person or the system wants the program to end: SIGINT, SIGQUIT, SIGTERM, SIGHUP.
final class Signals {
    private let sources: [any DispatchSourceSignal]

    /// Calls `onFirst` at the first signal. When the person presses Ctrl-C or Ctrl-\ again, or the program still runs
    /// `patience` seconds after the first, it ends at once.
    init(patience: Int, onFirst: @escaping @Sendable () -> Void) {
        let queue = DispatchQueue(label: "identityctl.signals")
        let arrival = DispatchWorkItem {
            onFirst()
            queue.asyncAfter(deadline: .now() + .seconds(patience)) { Self.endAtOnce() }
        }
        var sources: [any DispatchSourceSignal] = []
        for number in [SIGINT, SIGQUIT, SIGTERM, SIGHUP] where !Self.isIgnored(number) {
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler {
                if !arrival.isCancelled {
                    arrival.perform()
                    arrival.cancel()
                } else if number == SIGINT || number == SIGQUIT {
                    Self.endAtOnce()
                }
            }
            source.resume()
            sources.append(source)
        }
        self.sources = sources
        // A reader that is gone is an error of writing, not the end of the program.
        _ = signal(SIGPIPE, SIG_IGN)
    }

    /// Stops noticing; the signals stay without effect.
    func stop() {
        for source in sources { source.cancel() }
    }

    /// Takes a signal's effect away.
    /// - Returns: Whether it had none before, as under `nohup`: then it stays so.
    private static func isIgnored(_ number: Int32) -> Bool {
        let previous = signal(number, SIG_IGN)
        return unsafe unsafeBitCast(previous, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    private static func endAtOnce() -> Never {
        _exit(ExitStatus.cancelled.rawValue)
    }
}
