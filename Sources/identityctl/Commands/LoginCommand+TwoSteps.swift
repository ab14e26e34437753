// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityClient
import OAuthWire

// A sign-in with a browser elsewhere, in two commands: for scripts without a terminal.
extension LoginCommand {
    /// Prints the address to open, and keeps the request for `login --finish`.
    func startSignIn(
        _ parameters: InteractiveParameters,
        _ wanted: Given?,
        _ application: PublicClientApplication,
        _ session: Session
    ) async throws {
        let pending = try PendingSignIns(application.configuration)
        let request = try await application.prepareAuthorization(parameters)
        try pending.add(request, account: wanted?.text)
        let console = session.console
        console.line("Open the address in a browser on any computer, and sign in. The browser ends at a page that it")
        console.line("probably cannot show. That is right. Its address begins with \(request.redirectURI)")
        console.line(
            "Pass that whole address to this command, on its standard input and nowhere else: it signs in as you."
        )
        console.line("  \(sharedOptions.ofProviderAndCache.command("login --finish"))")
        let left = Duration.seconds(request.validUntil.timeIntervalSinceNow)
        console.line("It has to arrive within \(left.clockText).")
        if let expiresOn = request.expiresOn {
            let left = Duration.seconds(expiresOn.timeIntervalSinceNow)
            console.line("The address to open works once, and no later than in \(left.clockText).")
        }
        guard session.isJSON else { return try session.result(request.url.absoluteString + "\n") }
        var report = JSONObject([
            ("url", .string(request.url.absoluteString)),
            ("redirectURI", .string(request.redirectURI.absoluteString)),
            ("expiresOn", .string(request.validUntil.utcText)),
        ])
        report["urlExpiresOn"] = request.expiresOn.map { .string($0.utcText) }
        try session.result(JSONObject([("signIn", .object(report))]).line + "\n")
    }

    /// Finishes a sign-in with the address on standard input.
    ///
    /// - Returns: The result, and the account that `login --start` was to sign in.
    func finishSignIn(
        _ application: PublicClientApplication,
        _ session: Session,
        within timeout: Duration
    ) async throws -> (result: AuthenticationResult, wanted: Given?) {
        let pending = try PendingSignIns(application.configuration)
        var wanted: Given?
        let result = try await ManualSignIn.reading(
            session.console,
            // A script's input is not read beyond its first line.
            attempts: isatty(STDIN_FILENO) == 1 ? ManualSignIn.attempts : 1,
            until: .now + timeout,
            nil
        ) { line in
            let address = try PastedAddress(line).url
            guard let signIn = try pending.take(answeredBy: address) else {
                throw AuthenticationError(
                    .stateMismatch,
                    """
                    No sign-in of this client waits for this address. Its time may be up, or it was started with another client, \
                    for another user or on another computer. Begin again with --start.
                    """
                )
            }
            let own = try session.environment.given("account", nil)
            wanted = signIn.account.map { $0 == own?.text ? own : Given(text: $0, origin: "--account") } ?? nil
            return try await signIn.finish(application, with: address)
        }
        return (result, wanted)
    }

    /// Returns the advice for a sign-in that could not be finished.
    func adviceAfterFinish(_ error: any Error) -> String? {
        switch (error as? AuthenticationError)?.code {
        case .interactionTimedOut, .stateMismatch: "To begin again, run: \(sharedOptions.command("login --start"))"
        default: nil
        }
    }
}
