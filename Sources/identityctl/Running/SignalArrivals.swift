// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc

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
