// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Synchronization

/// Notices that the person or the system wants the program to end: SIGINT, SIGQUIT, SIGTERM, SIGHUP.
final class Signals {
    private let sources: [any DispatchSourceSignal]
    /// Whether a program here ends by SIGPIPE when its reader is gone: unless the caller has it ignored.
    let endsByBrokenPipe: Bool

    /// Calls `onFirst` at the first signal. When the person presses Ctrl-C or Ctrl-\ again, half a second later or more,
    /// or the program still runs `patience` seconds after the first, it ends at once.
    init(patience: Int, onFirst: @escaping @Sendable () -> Void) {
        let queue = DispatchQueue(label: "identityctl.signals")
        let arrivals = Mutex(SignalArrivals())
        let handle: @Sendable (Int32) -> Void = { number in
            switch arrivals.withLock({ $0.meaning(of: number, at: .now) }) {
            case .first:
                onFirst()
                queue.asyncAfter(deadline: .now() + .seconds(patience)) { Self.endAtOnce() }
            case .again: Self.endAtOnce()
            case .nothing: break
            }
        }
        var sources: [any DispatchSourceSignal] = []
        for number in [SIGINT, SIGQUIT, SIGTERM, SIGHUP] where !Self.isIgnored(number) {
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { handle(number) }
            source.resume()
            sources.append(source)
        }
        self.sources = sources
        // A reader that is gone is an error of writing first: a refresh under way is still stored.
        endsByBrokenPipe = !Self.isIgnored(SIGPIPE)
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

    /// Ends as every other program in a pipeline does whose reader is gone, `head` for example: by SIGPIPE, without a word.
    static func endByBrokenPipe() -> Never {
        _ = signal(SIGPIPE, SIG_DFL)
        _ = raise(SIGPIPE)
        _exit(128 + SIGPIPE)
    }

    private static func endAtOnce() -> Never {
        _exit(ExitStatus.cancelled.rawValue)
    }
}
