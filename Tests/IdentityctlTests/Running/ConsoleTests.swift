// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTesting
import Logging
import Testing

@testable import identityctl

@Suite struct ConsoleTests {
    @Test(arguments: [(40, 39), (80, 62)]) func fitsALineThatIsReplacedIntoTheTerminal(columns: Int, shown: Int) {
        let screen = Screen()
        screen.console(columns: columns).progress(String(repeating: "x", count: 62))
        #expect(screen.text == "\r\u{1B}[K" + String(repeating: "x", count: shown))
    }

    @Test func replacesNoLineWhereNoneCanBe() async {
        let screen = Screen()
        let console = screen.console(columns: nil)
        console.progress("x")
        console.notice("n")
        console.line("y")
        console.clearProgress()
        #expect(screen.text == "n\ny\n")
        screen.console(columns: 80).notice("elsewhere it is in the line that is replaced")
        screen.console(columns: nil, isTerminal: false).notice("nobody reads along")
        #expect(screen.text == "n\ny\n")
    }

    @Test func readsWhatTheTerminalCanDo() {
        #expect(Variables(["TERM": "dumb"]).isDumbTerminal && Variables(["TERM": "dumb"]).isColorless)
        #expect(!Variables(["TERM": "xterm"]).isDumbTerminal && !Variables(["NO_COLOR": ""]).isColorless)
        #expect(Variables(["NO_COLOR": "1"]).isColorless)
        for text in ["1", "true", "yes"] { #expect(Variables(["ACCESSIBLE": text]).isDumbTerminal) }
        for text in ["", "0", "false", "FALSE"] { #expect(!Variables(["ACCESSIBLE": text]).isDumbTerminal) }
    }

    @Test(arguments: [
        (["TERM": "xterm", "LANG": "en_US.UTF-8"], true), (["TERM": "vt100", "LC_CTYPE": "C.utf8", "LANG": "C"], true),
        (["TERM": "xterm", "LANG": "C"], false), (["TERM": "xterm"], false), (["LANG": "C.UTF-8"], false),
        (["TERM": "xterm", "LANG": "C.UTF-8", "LC_ALL": "POSIX"], false), (["TERM": "dumb", "LANG": "C.UTF-8"], false),
    ])
    func drawsOnlyWhereTheTerminalShowsBlocks(_ variables: [String: String], _ canDraw: Bool) {
        #expect(Variables(variables).canDraw == canDraw)
    }

    @Test(.timeLimit(.minutes(1))) func saysThatAProviderTakesLong() async throws {
        let screen = Screen()
        let console = screen.console(columns: 80)
        let (lines, continuation) = AsyncStream<String>.makeStream()
        let watcher = Task { for await line in lines where line.contains("Asking the provider… ") { return } }
        defer { continuation.finish() }
        screen.onWrite { continuation.yield($0) }
        try await console.bounded(by: .seconds(40)) { await watcher.value }
        #expect(screen.text.hasSuffix("\r\u{1B}[K"))
    }

    @Test func writesEachEventWithItsTime() {
        let screen = Screen()
        let handler = ConsoleLogHandler(level: .info, console: screen.console(columns: nil))
        Logger(label: "test") { _ in handler }.info("Said", metadata: ["b": "2", "a": "1"])
        let parts = screen.text.split(separator: " ", maxSplits: 1)
        #expect(parts.last == "[info] Said a=1 b=2\n")
        #expect(parts.first.flatMap { try? Date(String($0), strategy: .iso8601) } != nil, "\(screen.text)")
    }

    @Test func saysWhoseTurnItIsInASignIn() async throws {
        let application = try TestIdentityProvider().application()
        let screen = Screen()
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.timeout = .seconds(86_400)
        _ = try await application.acquireTokenInteractively(
            parameters,
            showingProgressOn: screen.console(columns: 80)
        )
        let lines = screen.text.split(separator: "\r\u{1B}[K", omittingEmptySubsequences: false)
        let waiting = try #require(lines.firstIndex { $0.hasPrefix("Waiting until you have signed in… 14") })
        #expect(lines.dropFirst(waiting).contains("Finishing the sign-in…") && lines.last == "")
    }

    @Test func saysOnceThatItWaitsWhereNoLineIsReplaced() async throws {
        let screen = Screen()
        _ = try await TestIdentityProvider().application().acquireTokenInteractively(
            InteractiveParameters(scopes: ["api.read"]),
            showingProgressOn: screen.console(columns: nil)
        )
        #expect(screen.text == "Waiting until you have signed in… 5:00 left. Ctrl-C gives up.\n")
    }

    @Test func countsDownToTheEnd() {
        let now = ContinuousClock.now
        let texts = [Duration.seconds(300), .milliseconds(299_001), .milliseconds(1), .zero, .seconds(-5)].map {
            SignInPhase.waitingForPerson(until: now + $0).text(at: now)
        }
        let times = ["5:00", "5:00", "0:01", "0:00", "0:00"]
        #expect(texts == times.map { "Waiting until you have signed in… \($0) left. Ctrl-C gives up." })
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
