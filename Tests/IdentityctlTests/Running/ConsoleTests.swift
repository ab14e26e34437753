// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTesting
import Synchronization
import Testing

@testable import identityctl

@Suite struct ConsoleTests {
    /// What was written to a terminal that is so wide.
    private final class Screen: Sendable {
        let written = Mutex("")
        var text: String { written.withLock { $0 } }

        func console(columns: Int?, isTerminal: Bool = true) -> Console {
            Console(isTerminal: isTerminal) {
                columns
            } write: { text in
                self.written.withLock { $0 += text }
            }
        }
    }

    private struct NoBrowser: BrowserLauncher {
        func open(_ url: URL) async throws {
            throw AuthenticationError(.browserUnavailable, "No browser. Show the address instead.")
        }
    }

    @Test(arguments: [(40, 39), (80, 62)]) func fitsALineThatIsReplacedIntoTheTerminal(columns: Int, shown: Int) {
        let screen = Screen()
        screen.console(columns: columns).progress(String(repeating: "x", count: 62))
        #expect(screen.text == "\r\u{1B}[K" + String(repeating: "x", count: shown))
    }

    @Test func replacesNoLineWhereNoneCanBe() async {
        let screen = Screen()
        let console = screen.console(columns: nil)
        console.progress("x")
        console.line("y")
        console.clearProgress()
        #expect(screen.text == "y\n")
    }

    @Test func readsWhatTheTerminalCanDo() {
        #expect(Environment(["TERM": "dumb"]).isDumbTerminal && Environment(["TERM": "dumb"]).isColorless)
        #expect(!Environment(["TERM": "xterm"]).isDumbTerminal && !Environment(["NO_COLOR": ""]).isColorless)
        #expect(Environment(["NO_COLOR": "1"]).isColorless)
    }

    @Test func showsTheSignOutPagesAddressToAPersonAlone() async throws {
        let url = try #require(URL(string: "https://id.example.test/logout?id_token_hint=secret"))
        let terminal = Screen()
        try await SignOutBrowser(launcher: NoBrowser(), console: terminal.console(columns: 80)).open(url)
        #expect(terminal.text.contains("\n  \(url.absoluteString)\n"))
        let pipe = Screen()
        let browser = SignOutBrowser(launcher: NoBrowser(), console: pipe.console(columns: 80, isTerminal: false))
        let error = await #expect(throws: AuthenticationError.self) { try await browser.open(url) }
        #expect(error?.code == .browserUnavailable && error?.message.contains("secret") == false)
        #expect(pipe.text.isEmpty)
    }
}
