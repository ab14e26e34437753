// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import Synchronization

@testable import identityctl

/// What was written to a terminal that is so wide.
final class Screen: Sendable {
    private let written = Mutex("")
    var text: String { written.withLock { $0 } }

    func console(columns: Int?, isTerminal: Bool = true) -> Console {
        Console(isTerminal: isTerminal) {
            columns
        } write: { text in
            self.written.withLock { $0 += text }
        }
    }
}

struct NoBrowser: BrowserLauncher {
    func open(_ url: URL) async throws {
        throw AuthenticationError(.browserUnavailable, "No browser. Show the address instead.")
    }
}
