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
    /// least half a second later, or if the program still runs `grace` seconds after the first signal, and ten seconds more
    /// while an answer is written.
    ///
    /// - Parameters:
    ///   - onWatching: Called when the watch has begun. Until then a signal ends the program, as it ends others.
    ///   - isWriting: Returns whether an answer is written that must not be lost.
    ///   - atEnd: Called before the program ends at once. Returns its status.
    init(
        grace: Int,
        onWatching: @escaping @Sendable () -> Void,
        onFirst: @escaping @Sendable () -> Void,
        isWriting: @escaping @Sendable () -> Bool,
        atEnd: @escaping @Sendable () -> Int32
    ) {
        let queue = DispatchQueue(label: "identityctl.signals")
        let arrivals = Mutex(SignalArrivals())
        let handle: @Sendable (Int32) -> Void = { number in
            switch arrivals.withLock({ $0.meaning(of: number, at: .now) }) {
            case .first:
                onFirst()
                queue.asyncAfter(deadline: .now() + .seconds(grace)) { if !isWriting() { _exit(atEnd()) } }
                queue.asyncAfter(deadline: .now() + .seconds(grace + 10)) { _exit(atEnd()) }
            case .again: _exit(atEnd())
            case .nothing: break
            }
        }
        // A signal that had no effect before, as under `nohup`, keeps none.
        let numbers = [SIGINT, SIGQUIT, SIGTERM, SIGHUP].filter { !Self.isIgnored($0) }
        let begun = Mutex(0)
        sources = numbers.map { number in
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { handle(number) }
            source.setRegistrationHandler {
                let count = begun.withLock { begun in
                    begun += 1
                    return begun
                }
                if count == numbers.count { onWatching() }
            }
            source.resume()
            return source
        }
        if numbers.isEmpty { onWatching() }
        endsByBrokenPipe = !Self.isIgnored(SIGPIPE)
        // A missing reader is a write error first, so that a refresh under way is still stored.
        _ = signal(SIGPIPE, SIG_IGN)
    }

    /// Stops the watch. The signals stay without effect.
    func stop() {
        for source in sources { source.cancel() }
    }

    /// Whether a signal has no effect.
    static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard unsafe sigaction(number, nil, &action) == 0 else { return false }
        return unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Ends the program by SIGPIPE, without a message, as other programs in a pipeline end when their reader (such as
    /// `head`) is gone.
    static func endByBrokenPipe() -> Never {
        _ = signal(SIGPIPE, SIG_DFL)
        _ = raise(SIGPIPE)
        _exit(128 + SIGPIPE)
    }
}

/// The signals that have arrived so far, by their time.
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
