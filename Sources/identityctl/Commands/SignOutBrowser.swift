// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient

/// Opens the sign-out page, and shows its address to the person at the terminal where no browser could be opened. It may
/// hold the ID token, so that it is not written where a log may be kept.
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
