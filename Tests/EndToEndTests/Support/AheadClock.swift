// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import Synchronization

/// A clock that shows the real time, or a later time once a test needs expired tokens.
final class AheadClock: WallClock {
    private let lead = Mutex<Duration>(.zero)

    var now: Date {
        Date.now.addingTimeInterval(Double(lead.withLock { $0 }.components.seconds))
    }

    func advance(by duration: Duration) {
        lead.withLock { $0 += duration }
    }

    func sleep(for duration: Duration) async throws {
        try await Task.sleep(for: duration)
    }
}
