// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import Synchronization
import SystemSupport

/// A sign-in through the browser of this computer, with messages on its progress.
struct BrowserSignIn {
    let application: PublicClientApplication
    let session: Session
    let elsewhere: ElsewhereAdvice

    private var console: Console { session.console }

    func run(_ parameters: InteractiveParameters) async throws -> AuthenticationResult {
        var parameters = parameters
        // Without a terminal, the person cannot open the address, so that a sign-in without a browser ends at once.
        parameters.requiresBrowser = !console.isTerminal
        // The address stays out of output that may be logged: it holds the person's name and the request's secrets.
        parameters.onAuthorizationURL = { url in
            session.noteCourse(hasPage: true)
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

/// A launcher that reports if no browser could be opened. At a terminal the sign-in then continues, because the
/// address is shown.
struct ReportingBrowser: BrowserLauncher {
    let launcher: any BrowserLauncher
    let console: Console
    let elsewhere: ElsewhereAdvice

    func open(_ url: URL) async throws {
        do {
            try await launcher.open(url)
        } catch let failure as AuthenticationError {
            // Without a terminal, the command ends with this error and reports it then.
            if console.isTerminal {
                console.line(failure.message.printable)
                console.line("No browser on this computer? Press Ctrl-C and run: \(elsewhere.command)")
            }
            throw failure
        }
    }
}

extension PublicClientApplication {
    /// Signs in, and meanwhile shows on a terminal whether the program or the person has to act.
    func acquireTokenInteractively(
        _ parameters: InteractiveParameters,
        showingProgressOn console: Console
    ) async throws -> AuthenticationResult {
        let phase = Mutex<SignInPhase?>(nil)
        var parameters = parameters
        parameters.onProgress = { new in
            if case .browserUnavailable = new { return }  // the launcher has said so
            phase.withLock { $0 = new }
            let text = new.text(at: .now)
            console.progress(text)
            switch new {
            case .waitingForPerson, .brokerUnavailable: console.notice(text)
            case .browserUnavailable, .redirectReceived: break
            }
        }
        return try await console.showingProgress { _ in
            phase.withLock(\.self)?.text(at: .now) ?? "Preparing the sign-in…"
        } while: {
            try await acquireTokenInteractively(parameters)
        }
    }
}

extension SignInPhase {
    func text(at now: ContinuousClock.Instant) -> String {
        switch self {
        case .browserUnavailable(let message): message.printable
        case .brokerUnavailable(let message): "\(message.printable) The browser signs you in."
        case .waitingForPerson(let end):
            "Waiting until you have signed in… \((end - now).clockText) left. Ctrl-C gives up."
        case .redirectReceived: "Finishing the sign-in…"
        }
    }
}

/// Advice for a browser that cannot be opened on this computer, or cannot come back to it.
struct ElsewhereAdvice {
    /// The options of the sign-in.
    let options: SharedOptions

    var command: String { "\(options.command("login --manual")) (or --device-code, where the provider offers it)" }

    /// Returns the advice for a failed sign-in in the browser.
    ///
    /// - Parameter profile: The lines of the sign-in.
    func after(_ error: any Error, of profile: Profile? = nil) -> String? {
        switch (error as? AuthenticationError)?.code {
        case .interactionTimedOut:
            if let profile, profile.isOfRegistration, let resource = profile.given("resource")?.text {
                // A server that has forgotten the client says so on its page alone.
                """
                If the page said that the server does not know the client, register anew: identityctl registration remove \
                \(resource.shellWord) && \(options.replacing("--resource", with: resource).command("login"))
                """
            } else {
                usual
            }
        case .browserUnavailable: "To sign in with a browser elsewhere, run: \(command)"
        default: nil
        }
    }

    private var usual: String {
        """
        If the provider showed an error, check the client id and the redirect URI. If the browser ended at a page that it \
        could not show, it cannot come back here. Run: \(command)
        """
    }
}
