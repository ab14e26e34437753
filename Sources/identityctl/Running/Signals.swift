// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Synchronization

/// A watch for the signals by which the person or the system ends the program: SIGINT, SIGQUIT, SIGTERM, SIGHUP.
final class Signals {
    private let sources: [any DispatchSourceSignal]
    /// Whether the program ends by SIGPIPE once its reader is gone. `false` if the caller ignores the signal.
    let endsByBrokenPipe: Bool

    /// Calls `onFirst` at the first signal. The program ends at once if the person presses Ctrl-C or Ctrl-\ again at
    /// least half a second later, or if the program still runs `grace` seconds after the first signal.
    init(grace: Int, onFirst: @escaping @Sendable () -> Void) {
        let queue = DispatchQueue(label: "identityctl.signals")
        let arrivals = Mutex(SignalArrivals())
        let handle: @Sendable (Int32) -> Void = { number in
            switch arrivals.withLock({ $0.meaning(of: number, at: .now) }) {
            case .first:
                onFirst()
                queue.asyncAfter(deadline: .now() + .seconds(grace)) { Self.endAtOnce() }
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
        // A missing reader is a write error first, so that a refresh under way is still stored.
        endsByBrokenPipe = !Self.isIgnored(SIGPIPE)
    }

    /// Stops the watch. The signals stay without effect.
    func stop() {
        for source in sources { source.cancel() }
    }

    /// Removes a signal's effect.
    /// - Returns: Whether the signal had no effect before, as under `nohup`, and so keeps none.
    private static func isIgnored(_ number: Int32) -> Bool {
        let previous = signal(number, SIG_IGN)
        return unsafe unsafeBitCast(previous, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Ends the program by SIGPIPE, without a message, as other programs in a pipeline end when their reader (such as
    /// `head`) is gone.
    static func endByBrokenPipe() -> Never {
        _ = signal(SIGPIPE, SIG_DFL)
        _ = raise(SIGPIPE)
        _exit(128 + SIGPIPE)
    }

    private static func endAtOnce() -> Never {
        _exit(ExitStatus.cancelled.rawValue)
    }
}

/// The signals that have arrived so far, told apart by their time.
///
/// One Ctrl-C can arrive as two signals: `timeout` and other wrappers pass on a signal that their whole group already
/// got. Signals within half a second count as one. A person who means a second Ctrl-C takes longer.
struct SignalArrivals {
    enum Meaning: Hashable {
        /// The work should end in good order.
        case first
        /// The person insists.
        case again
        case nothing
    }

    private var first: ContinuousClock.Instant?
    static let oneEvent = Duration.milliseconds(500)

    mutating func meaning(of number: Int32, at now: ContinuousClock.Instant) -> Meaning {
        guard let first else {
            first = now
            return .first
        }
        guard number == SIGINT || number == SIGQUIT, now - first >= Self.oneEvent else { return .nothing }
        return .again
    }
}
