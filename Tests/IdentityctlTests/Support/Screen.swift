// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import Synchronization

@testable import identityctl

/// The text that was written to a terminal of a given width.
final class Screen: Sendable {
    private let written = Mutex("")
    var text: String { written.withLock { $0 } }

    private let listener = Mutex<(@Sendable (String) -> Void)?>(nil)

    func write(_ text: String) {
        written.withLock { $0 += text }
        listener.withLock { $0 }?(text)
    }

    /// Is told what is written from now on.
    func onWrite(_ told: @escaping @Sendable (String) -> Void) {
        listener.withLock { $0 = told }
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
