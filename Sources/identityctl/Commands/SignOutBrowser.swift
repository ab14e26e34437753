// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient

/// A launcher for the sign-out page. If no browser could be opened, it shows the page's address to the person at the
/// terminal. The address may hold the ID token, and so is not written to output that may be logged.
struct SignOutBrowser: BrowserLauncher {
    let launcher: any BrowserLauncher
    let console: Console

    func open(_ url: URL) async throws {
        do {
            try await launcher.open(url)
        } catch let failure as AuthenticationError {
            guard console.isTerminal else {
                throw AuthenticationError(
                    failure.code,
                    "\(failure.message) This command does so at a terminal.",
                    timestamp: failure.timestamp
                )
            }
            console.line(failure.message.printable)
            console.line("")
            console.line("  \(url.absoluteString)")
            console.line("")
        }
    }
}
