// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTesting
import Logging
import Testing

@testable import identityctl

/// Advice for a person whose browser is on another computer.
@Suite struct BrowserSignInTests {
    private let elsewhere = ElsewhereAdvice(options: SharedOptions())

    @Test(arguments: [true, false]) func saysAtATerminalWhatToDoWhereTheBrowserCannotComeBack(isTerminal: Bool)
        async throws
    {
        let screen = Screen()
        _ = try await BrowserSignIn(
            application: try TestIdentityProvider().application(),
            session: Session(
                TokenRoute(variables: Variables([:])),
                console: screen.console(columns: 80, isTerminal: isTerminal),
                isJSON: false,
                logLevel: .critical
            ),
            elsewhere: elsewhere
        ).run(InteractiveParameters(scopes: ["api.read"]))
        let lines = screen.text.split(separator: "\n")
        #expect(screen.text.contains("Opening the browser."))
        // Where a log may be kept there is no state, no nonce, and no name.
        #expect(screen.text.contains("state=") == isTerminal && screen.text.contains("://") == isTerminal)
        #expect(screen.text.contains("check the client id") == isTerminal)
        #expect(lines.contains("Then press Ctrl-C and run: \(elsewhere.command)") == isTerminal)
    }

    /// The advice also appears if a browser was expected.
    @Test(arguments: [true, false]) func saysWhatToDoAfterEachLaunchThatFailed(isTerminal: Bool) async throws {
        let screen = Screen()
        let browser = ReportingBrowser(
            launcher: NoBrowser(),
            console: screen.console(columns: 80, isTerminal: isTerminal),
            elsewhere: elsewhere
        )
        let url = try #require(URL(string: "https://id.example.test/"))
        await #expect(throws: AuthenticationError.self) { try await browser.open(url) }
        // Without a terminal, the error that ends the command contains the advice.
        #expect(screen.text.hasPrefix("No browser. Show the address instead.\n") == isTerminal)
        #expect(screen.text.contains("Press Ctrl-C and run: identityctl login --manual") == isTerminal)
    }
}
