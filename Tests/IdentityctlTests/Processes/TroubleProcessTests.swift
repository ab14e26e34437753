// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityClient
import IdentityTesting
import OAuthWire
import Testing
import identityctl

/// Failures, as a script sees them.
@Suite struct TroubleProcessTests {
    static func code(of outcome: Tool.Outcome) throws -> String? {
        try JSONObject(parsing: Array((outcome.errorLines.last ?? "").utf8)).object("error")?.string("code")
    }

    @Test(.timeLimit(.minutes(1))) func signsInWithAPastedAddress() async throws {
        let setup = try ToolSetup()
        let tool = try Tool(["login", "--manual"], setup.variables)
        let browser = ScriptedBrowser(provider: nil)
        browser.followsRedirects = false
        let address = try await tool.shownAddress()
        try await browser.visit(address)
        let answer = try await browser.redirectURL()
        try tool.type("what?")
        _ = try await tool.errorLine { $0.hasPrefix("That is not an address") }
        try tool.type(address.absoluteString)
        _ = try await tool.errorLine { $0.hasPrefix("That is the address to open") }
        try tool.type(" \"\(answer.absoluteString)\" ")
        let outcome = try await tool.outcome()
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(setup.provider.accepts(accessToken: String(outcome.output.dropLast())))
        #expect(outcome.errors.contains("Never paste it anywhere else"))
        #expect(!outcome.errors.contains(answer.absoluteString))
        #expect(try await setup.run("token").output == outcome.output)
    }

    @Test(.timeLimit(.minutes(1))) func givesUpOnPastedAddressesThatAreNoAnswer() async throws {
        let setup = try ToolSetup()
        let ended = try await setup.run("login", "--manual", "--json")
        #expect(ended.status == 6)
        #expect(try Self.code(of: ended) == "user_cancelled")
        #expect(ended.errors.contains("No address was pasted") && !ended.errors.contains("Cancelled."))
        let tool = try Tool(["login", "--manual", "--json"], setup.variables)
        for _ in 1...3 { try tool.type("http://127.0.0.1/?code=x&state=y") }
        _ = try await tool.errorLine { $0.hasPrefix("That is not the answer") }
        let wrong = try await tool.outcome()
        #expect(wrong.status == 5)
        #expect(try Self.code(of: wrong) == "invalid_response.state")
        #expect(setup.provider.count(of: .token) == 0)
    }

    /// The answer has come, and a process that hangs keeps the record's lock until the tool's time is over.
    @Test(.timeLimit(.minutes(2)), arguments: [true, false])
    func saysByItsStatusThatASpentRefreshTokenHasNoSuccessor(hasReader: Bool) async throws {
        let setup = try ToolSetup()
        try await setup.signIn()
        let gate = TestGate()
        setup.provider.failNext(.token, with: .held(by: gate))
        let output = hasReader ? nil : "> >(:)"
        let tool = try Tool(["token", "--force-refresh", "--json"], setup.variables, redirections: output)
        try await setup.provider.waitForRequest(.token, count: 2)
        let locks = try setup.lockRecords()
        defer { for lock in locks { close(lock) } }
        gate.open()
        let outcome = try await tool.outcome()
        #expect(outcome.status == 11, "\(outcome.errors)")
        #expect(outcome.output.contains(#""persisted":false"#) == hasReader)
        #expect(try Self.code(of: outcome) == "cache.busy")
        #expect(outcome.errors.contains("Process \(getpid()) has held the lock"))
    }

    /// The option's variable may be set for other sign-ins.
    @Test(.timeLimit(.minutes(1))) func refusesABrowserThatWouldNotBeOpened() async throws {
        let setup = try ToolSetup()
        let refused = try await setup.run("login", "--manual", "--browser", "w3m")
        #expect(refused.status == 64 && refused.errors.contains("--browser: not together with --manual"))
        #expect(setup.provider.requests.isEmpty)
        let variables = setup.variables.merging(["IDENTITYCTL_BROWSER": "w3m"]) { $1 }
        #expect(try await Tool.run(["login", "--manual"], variables).status == 6)
    }

    @Test(.timeLimit(.minutes(1))) func takesAnAddressThatIsLongerThanATerminalsLine() async throws {
        let setup = try ToolSetup()
        let terminal = try PseudoTerminal()
        let tool = try Tool(["login", "--manual"], setup.variables, terminal: terminal.terminal)
        let browser = ScriptedBrowser(provider: nil)
        browser.followsRedirects = false
        try await browser.visit(try await tool.shownAddress())
        let answer = try await browser.redirectURL().absoluteString.split(separator: "?", maxSplits: 1)
        let padding = String(repeating: "x", count: 9000)
        _ = try await tool.errorLine { $0.hasPrefix("Address") }
        #expect(!terminal.isUsual)
        try terminal.type("\(answer[0])?padding=\(padding)&\(answer[1])y\u{7F}\r")
        let outcome = try await tool.outcome()
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(terminal.isUsual)
    }

    /// As a shell does when it continues a stopped program.
    @Test(.timeLimit(.minutes(1))) func showsNoPastedAddressAfterTheTerminalWasReset() async throws {
        let setup = try ToolSetup()
        let terminal = try PseudoTerminal()
        let usual = try terminal.mode
        let tool = try Tool(["login", "--manual"], setup.variables, terminal: terminal.terminal)
        _ = try await tool.errorLine { $0.hasPrefix("Address") }
        #expect(!terminal.isUsual)
        try terminal.set(usual)
        try await tool.poll("a quiet terminal") { terminal.isUsual ? nil : () }
        tool.interrupt()
        #expect(try await tool.outcome().status == 6)
        #expect(terminal.isUsual)
    }

    /// Ctrl-Z: some shells restore the terminal's mode themselves; dash does not.
    @Test(.timeLimit(.minutes(1))) func leavesTheTerminalAsItWasWhileItIsStopped() async throws {
        let setup = try ToolSetup()
        let terminal = try PseudoTerminal()
        let tool = try Tool(["login", "--manual"], setup.variables, terminal: terminal.terminal)
        _ = try await tool.errorLine { $0.hasPrefix("Address") }
        tool.interrupt(by: SIGTSTP)
        try await tool.poll("a usual terminal") { terminal.isUsual ? () : nil }
        tool.interrupt(by: SIGCONT)
        try await tool.poll("a quiet terminal") { terminal.isUsual ? nil : () }
        tool.interrupt()
        #expect(try await tool.outcome().status == 6)
        #expect(terminal.isUsual)
    }

    @Test(.timeLimit(.minutes(1)), arguments: [SIGINT, SIGQUIT, SIGTERM, SIGHUP])
    func leavesTheTerminalAsItWasWhateverEndsIt(signal: CInt) async throws {
        let setup = try ToolSetup()
        let terminal = try PseudoTerminal()
        let tool = try Tool(["login", "--manual"], setup.variables, terminal: terminal.terminal)
        _ = try await tool.errorLine { $0.hasPrefix("Address") }
        #expect(!terminal.isUsual)
        tool.interrupt(by: signal)
        #expect(try await tool.outcome().status == 6)
        #expect(terminal.isUsual)
    }

    /// A signal that is ignored until a handler takes it is lost if it comes in this moment.
    @Test(.timeLimit(.minutes(1))) func ignoresNoCtrlCAsItStarts() async throws {
        let setup = try ToolSetup()
        for _ in 0..<5 {
            let tool = try Tool(["login", "--manual"], setup.variables)
            let states = try await tool.poll("a handler of Ctrl-C") { tool.statesUntilHandled(SIGINT) }
            #expect(!states.contains(.ignored))
            tool.interrupt()
            #expect(try await tool.outcome().status == 6)
        }
    }

    @Test(.timeLimit(.minutes(1))) func endsAndFreesThePortWhenInterrupted() async throws {
        let setup = try ToolSetup()
        let tool = try Tool(["login"], setup.variables)
        let address = try await tool.shownAddress()
        let redirect = try #require(
            URLComponents(url: address, resolvingAgainstBaseURL: false)?.queryItems?.first { $0.name == "redirect_uri" }
        )
        let port = try #require(redirect.value.flatMap { URL(string: $0)?.port })
        #expect(isListening(port))
        // Without the interruption it would wait for the person, longer than this test may take.
        tool.interrupt()
        let outcome = try await tool.outcome()
        #expect(outcome.status == 6)
        #expect(outcome.output.isEmpty)
        #expect(!isListening(port))
    }

    @Test(.timeLimit(.minutes(1))) func endsWhenThePersonDoesNotComeBack() async throws {
        let setup = try ToolSetup()
        let outcome = try await setup.run("login", "--timeout", "4", "--json")
        #expect(outcome.status == 6)
        #expect(try Self.code(of: outcome) == "user_cancelled.timed_out")
        let manual = try Tool(["login", "--manual", "--timeout", "4"], setup.variables)
        let ended = try await manual.outcome()
        #expect(ended.status == 6 && ended.errorLines.last?.contains("user_cancelled.timed_out") == true)
    }

    /// The browser may have been unable to reach this computer.
    @Test(.timeLimit(.minutes(1))) func saysAfterASignInThatTimedOutWhatToDo() async throws {
        let setup = try ToolSetup()
        let outcome = try await setup.run("login", "--timeout", "4", "--scope", "api.write")
        #expect(outcome.status == 6)
        let advice =
            "Run: identityctl login --manual --scope api.write (or --device-code, where the provider offers it)"
        #expect(outcome.errorLines.last?.hasSuffix(advice) == true, "\(outcome.errors)")
        #expect(outcome.errorLines.last?.contains("check the client id and the redirect URI") == true)
    }

    /// The provider's answer is not waited for any longer than the person.
    @Test(.timeLimit(.minutes(1)), arguments: [[], ["--manual"], ["--device-code"]])
    func waitsForAProviderNoLongerThanItMay(_ way: [String]) async throws {
        let setup = try ToolSetup()
        let gate = TestGate()
        defer { gate.open() }
        setup.provider.failAlways(.discovery, with: .held(by: gate))
        let start = ContinuousClock.now
        let outcome = try await Tool.run(["login", "--timeout", "1", "--json"] + way, setup.variables)
        #expect(outcome.status == 3, "\(outcome.errors)")
        #expect(try Self.code(of: outcome) == "network.timed_out")
        // The library waits for 30 by itself.
        #expect(start.duration(to: .now) < .seconds(20))
    }

    @Test(.timeLimit(.minutes(1))) func saysHowToGoOnAfterADamagedRecord() async throws {
        let setup = try ToolSetup()
        try await setup.signIn()
        let name = try #require(try setup.cacheContents().keys.first { $0.contains("/account-") })
        let record = setup.directory.appendingPathComponent("cache/\(name)").path
        try "{".write(toFile: record, atomically: false, encoding: .utf8)
        let damaged = try await setup.run("token", "--account", "\(setup.issuer)|subject-alice")
        #expect(damaged.status == 4 && damaged.errors.contains("Sign in again"), "\(damaged.errors)")
    }

    @Test(.timeLimit(.minutes(1))) func endsAtOnceWithoutABrowserAndATerminal() async throws {
        let setup = try ToolSetup()
        let login = try await setup.run("login", "--json", "--browser", "/nowhere/browser")
        #expect(login.status == 8)
        #expect(try Self.code(of: login) == "interaction_unavailable.browser")
        #expect(login.errors.contains("identityctl login --manual") && !login.errors.contains("Ctrl-C"))
        #expect(!login.errors.contains("yourself"), "\(login)")
    }

    @Test(.timeLimit(.minutes(1))) func saysWhoSaidNo() async throws {
        let setup = try ToolSetup()
        setup.provider.settings.consentScopes = ["files.read"]
        let denied = try await setup.login("--json", behaviour: .deny)
        #expect(denied.status == 7)
        #expect(try Self.code(of: denied) == "user_cancelled.access_denied")
    }

    @Test(.timeLimit(.minutes(1))) func tellsAnUnreachableProviderFromAnUnusableCache() async throws {
        let setup = try ToolSetup()
        setup.provider.close()
        let offline = try await setup.run("login", "--json")
        #expect(offline.status == 3)
        #expect(try Self.code(of: offline)?.hasPrefix("network") == true)
        let noCache = try await setup.run("accounts", "--json", "--cache", "file:/dev/null/cache")
        #expect(noCache.status == 4)
        #expect(try Self.code(of: noCache)?.hasPrefix("cache") == true)
        let device = try await setup.run("accounts", "--cache", "file:/dev/null")
        #expect(device.status == 4 && device.errors.contains("Name another directory"))
        #expect(!device.errors.contains("Remove it"), "\(device.errors)")
    }

    @Test(.timeLimit(.minutes(1))) func doesNotBelieveAWrongAnswer() async throws {
        let setup = try ToolSetup()
        setup.provider.tamperNextIDToken(with: .brokenSignature)
        let outcome = try await setup.login("--json")
        #expect(outcome.status == 5)
        #expect(try Self.code(of: outcome) == "invalid_response.id_token")
        #expect(try await setup.run("accounts", "--json").output == "[]\n")
    }

    @Test(.timeLimit(.minutes(1))) func saysThatTheResultCouldNotBeHandedOver() async throws {
        let setup = try ToolSetup()
        try await setup.signIn()
        let outcome = try await Tool.run(["token"], setup.variables, outputPath: "/dev/full")
        #expect(outcome.status == 1)
        #expect(outcome.errors.contains("Standard output could not be written"))
    }

    @Test(.timeLimit(.minutes(2))) func refusesWrongUsageBeforeItTouchesAnything() async throws {
        let setup = try ToolSetup()
        try await setup.signIn()
        let before = try setup.cacheContents()
        #expect(!before.isEmpty)
        setup.provider.forgetRequests()
        for arguments in [
            ["login", "--redirect-uri", "nonsense"], ["login", "--redirect-ports", "9-1"],
            ["login", "--timeout", "-1"],
            ["login", "--claims", "nonsense"], ["login", "--response-mode", "smoke"], ["login", "--cache", "kwallet"],
            ["login", "--authority", "nonsense"], ["login", "--issuer", "http://example.test"], ["login", "extra"],
            ["token", "--claims", "[]"], ["token", "--scope", ""], ["token", "--account", ""], ["token", "--nonsense"],
            ["token", "--log-level", "loud"], ["logout", "--all", "--account", "x"], ["logout", "--group", "a/b"],
            ["accounts", "--client-id", ""], ["logout", "--browser", "w3m"],
            ["logout", "--post-logout-redirect-uri", "http://127.0.0.1"],
            ["login", "--redirect-uri", "com.example.app:/cb", "--redirect-ports", "1-2"], ["nonsense"],
            ["token", "--client-id", "a\u{7}b"],
        ] {
            let outcome = try await Tool.run(arguments + ["--json"], setup.variables)
            #expect(outcome.status == 64, "\(arguments): \(outcome.errors)")
            #expect(outcome.output.isEmpty, "\(arguments)")
            #expect(try Self.code(of: outcome) == "configuration.invalid_argument", "\(arguments)")
        }
        #expect(try setup.cacheContents() == before)
        #expect(setup.provider.requests.isEmpty)
        #expect(try await setup.run("token").status == 0)
    }

    @Test(.timeLimit(.minutes(1)), arguments: ["1", "true", "YES"])
    func readsTheSwitchForJSONInOneWay(_ text: String) async throws {
        for arguments in [["nonsense"], ["token", "--log-level", "loud"], ["token", "--client-id", ""]] {
            let outcome = try await Tool.run(arguments, ["IDENTITYCTL_JSON": text])
            #expect(try Self.code(of: outcome) == "configuration.invalid_argument", "\(arguments)")
        }
    }

    @Test(.timeLimit(.minutes(1))) func keepsTokensWhereThePersonMeans() async throws {
        let setup = try ToolSetup()
        var variables = setup.variables
        variables["HOME"] = setup.directory.path
        variables["IDENTITYCTL_CACHE"] = "file:~/tokens"
        let tool = try Tool(["login"], variables)
        try await ScriptedBrowser(provider: nil).visit(try await tool.shownAddress())
        #expect(try await tool.outcome().status == 0)
        #expect(FileManager.default.fileExists(atPath: setup.directory.path + "/tokens"))
        for relative in ["file:tokens", "file:./tokens", "file:~bob/tokens"] {
            let outcome = try await setup.run("accounts", "--json", "--cache", relative)
            #expect(outcome.status == 64 && outcome.errors.contains("begins with / or ~/"))
        }
    }

    @Test(.timeLimit(.minutes(1))) func helpsOnStandardOutput() async throws {
        for arguments in [["--help"], ["help", "token"], ["login", "--help"]] {
            let outcome = try await Tool.run(arguments)
            #expect(outcome.status == 0)
            #expect(outcome.output.contains("USAGE: identityctl"))
            #expect(outcome.errors.isEmpty)
        }
    }

    private func isListening(_ port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
