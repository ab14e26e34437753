// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient

/// Signs in through the browser of this computer, and says what is going on.
struct BrowserSignIn {
    let application: PublicClientApplication
    let console: Console
    let elsewhere: ElsewhereAdvice

    func run(_ parameters: InteractiveParameters) async throws -> AuthenticationResult {
        var parameters = parameters
        // Who does not sit at a terminal cannot open the address: without a browser, it ends at once.
        parameters.requiresBrowser = !console.isTerminal
        // Where a log may be kept, the address is left out: it holds the person's name and the request's secrets.
        parameters.onAuthorizationURL = { url in
            if console.isTerminal { show(url) } else { console.line("Opening the browser.") }
        }
        return try await application.acquireTokenInteractively(parameters, showingProgressOn: console)
    }

    private func show(_ url: URL) {
        console.line("Opening the browser. If it does not show the sign-in page, open this address on this computer:")
        console.line("")
        console.line("  \(url.absoluteString)")
        console.line("")
        console.line("If the provider shows an error there, check the client id and the redirect URI.")
        console.line("If it ends at a page that the browser cannot show, that browser cannot come back here.")
        console.line("Then press Ctrl-C and run: \(elsewhere.command)")
    }
}

/// Opens the browser, and says so where none could be opened. At a terminal the sign-in goes on, because the address is
/// shown.
struct ReportingBrowser: BrowserLauncher {
    let launcher: any BrowserLauncher
    let console: Console
    let elsewhere: ElsewhereAdvice

    func open(_ url: URL) async throws {
        do {
            try await launcher.open(url)
        } catch let failure as AuthenticationError {
            // Elsewhere the command ends with it, and says it then.
            if console.isTerminal {
                console.line(failure.message.printable)
                console.line("No browser on this computer? Press Ctrl-C and run: \(elsewhere.command)")
            }
            throw failure
        }
    }
}
