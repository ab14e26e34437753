// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import Synchronization

@testable import identityctl

/// The text that was written to a terminal of a given width.
final class Screen: Sendable {
    private let written = Mutex("")
    var text: String { written.withLock { $0 } }

    func write(_ text: String) {
        written.withLock { $0 += text }
    }

    func console(columns: Int?, isTerminal: Bool = true) -> Console {
        Console(isTerminal: isTerminal) {
            columns
        } write: {
            self.write($0)
        }
    }
}

struct NoBrowser: BrowserLauncher {
    func open(_ url: URL) async throws {
        throw AuthenticationError(.browserUnavailable, "No browser. Show the address instead.")
    }
}
