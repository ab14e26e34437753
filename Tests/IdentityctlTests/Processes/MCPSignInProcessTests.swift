// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityTesting
import LoopbackHTTP
import OAuthWire
import Synchronization
import Testing

@testable import identityctl

/// The sign-in that a bridge needs. The API answers with no message of JSON-RPC, which the bridges tell in an error.
///
/// One after the other, because a registered program has five ports for the redirects of all its sign-ins.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct MCPSignInProcessTests {
    private let setup: ToolSetup
    private let url: String
    private let browser = BrowserStandIn()
    private let variables: [String: String]
    private static let call = #"{"id":1,"method":"x"}"#

    init() throws {
        setup = try ToolSetup()
        setup.provider.settings.resource = TestIdentityProvider.Resource(scopes: ["read"])
        setup.provider.settings.registersClients = true
        url = setup.provider.resourceAddress
        variables = [
            "HOME": setup.directory.path, "XDG_RUNTIME_DIR": setup.directory.path, "DISPLAY": ":99",
            "IDENTITYCTL_CACHE": "file:\(setup.directory.path)/cache", "IDENTITYCTL_BROWSER": try browser.command,
            // A sign-in that a failed test leaves behind ends by itself.
            "IDENTITYCTL_TIMEOUT": "50",
        ]
    }

    private func bridge(_ more: [String: String] = [:]) throws -> Tool {
        let bridge = try Tool(["mcp", url], variables.merging(more) { $1 })
        try bridge.type(Self.call)
        return bridge
    }

    private func visit(_ tool: Tool, after before: String? = nil) async throws {
        let address = try await tool.poll("a page") { browser.address.flatMap { $0 == before ? nil : $0 } }
        try await ScriptedBrowser(provider: nil).visit(try #require(URL(string: address)))
    }

    private func text(_ answer: JSONObject) -> String { answer.object("error")?.string("message") ?? "" }

    @Test func opensOnePageForTwentyBridges() async throws {
        let bridges = try (0..<20).map { _ in try bridge() }
        try await visit(bridges[0])
        for bridge in bridges { #expect(text(try await bridge.answer(1)).contains("no method, result or error")) }
        let provider = setup.provider
        #expect(provider.count(of: .registration) == 1 && provider.count(of: .authorization) == 1)
        #expect(provider.count(of: .token) == 1)
        let page = try #require(browser.question)
        #expect(page.contains(url) && page.contains(setup.issuer))
    }

    /// The server says nothing about the person, who knows the account by the entry that was set up for it.
    @Test func namesTheEntryOfAnAccountWithoutAName() async throws {
        let bridge = try bridge()
        try await visit(bridge)
        _ = try await bridge.answer(1)
        let set = try await Tool.run(["integrate", "claude-code", "--resource", url, "--name", "notes"], variables)
        #expect(set.status == 0, "\(set)")
        let terminal = try PseudoTerminal()
        let list = ["accounts", "--resource", url]
        let shown = try Tool(list, variables, outputPath: terminal.path)
        #expect(try await shown.outcome().status == 0)
        let line = terminal.shown()
        #expect(line.hasPrefix("claude-code: notes  "), "\(line)")
        // A script gets what it got before.
        #expect(try await Tool.run(list, variables).output.hasPrefix("-\t"))
    }

    @Test func losesNothingIfTheHostEndsTheBridge() async throws {
        let bridge = try bridge()
        _ = try await bridge.poll("a page") { browser.address }
        #expect(bridge.interrupt(by: SIGKILL))
        let next = try self.bridge()
        try await visit(next)
        #expect(text(try await next.answer(1)).contains("no method, result or error"))
        #expect(setup.provider.count(of: .authorization) == 1 && setup.provider.count(of: .token) == 1)
    }

    @Test func opensNoOtherTabAfterOneThatCameToNothing() async throws {
        let first = try bridge(["PERSON_MODE": "disagree"])
        let refused = text(try await first.answer(1))
        #expect(refused.contains("refused in the browser") && refused.contains("identityctl login --resource \(url)"))
        try first.type(#"{"id":2,"method":"x"}"#)
        let later = text(try await first.answer(2))
        #expect(later.contains("no browser is opened for ten minutes") && later.contains("refused in the browser"))
        #expect(later.contains("identityctl login --resource \(url)"), "\(later)")
        #expect(setup.provider.count(of: .authorization) == 0 && browser.address == nil)
        // The next message after a sign-in works without another start.
        let login = try Tool(["login", "--resource", url], variables)
        try await visit(login)
        #expect(try await login.outcome().status == 0)
        try first.type(#"{"id":3,"method":"x"}"#)
        #expect(text(try await first.answer(3)).contains("no method, result or error"))
    }

    @Test(arguments: [
        ["DISPLAY": "", "IDENTITYCTL_BROWSER": ""], ["SSH_CONNECTION": "192.0.2.1 1 192.0.2.2 22"],
        ["IDENTITYCTL_SIGN_IN": "never"],
    ])
    func saysWhatToRunWhereNoPageMayOpen(_ more: [String: String]) async throws {
        let bridge = try bridge(more)
        let text = text(try await bridge.answer(1))
        #expect(text.contains("To sign in, run: identityctl login --resource \(url)"), "\(text)")
        #expect(browser.address == nil && setup.provider.requests.isEmpty)
    }

    /// As in the remote windows of editors.
    @Test func opensABrowserThatIsNamedWithoutADisplay() async throws {
        let variables = ["DISPLAY": "", "SSH_CONNECTION": "192.0.2.1 1 192.0.2.2 22", "IDENTITYCTL_BROWSER": ""]
        let bridge = try bridge(variables.merging(["BROWSER": try browser.command]) { $1 })
        try await visit(bridge)
        #expect(text(try await bridge.answer(1)).contains("no method, result or error"))
    }

    /// The reason is in the answer, no page was opened, and the next message tries again.
    @Test func saysWhyASignInCameToNothing() async throws {
        setup.provider.settings.resource?.authorizationServers = [setup.issuer, "https://other.example"]
        let bridge = try bridge()
        let text = text(try await bridge.answer(1))
        #expect(text.contains("takes tokens of several servers") && text.contains("run: identityctl login --resource"))
        #expect(browser.address == nil && browser.question == nil)
        setup.provider.settings.resource?.authorizationServers = nil
        try bridge.type(#"{"id":2,"method":"x"}"#)
        try await visit(bridge)
        #expect(self.text(try await bridge.answer(2)).contains("no method, result or error"))
    }

    @Test func namesTheOptionForAClientWhereTheServerRegistersNone() async throws {
        setup.provider.settings.registersClients = false
        let text = text(try await bridge().answer(1))
        #expect(text.contains("registers no program by itself"), "\(text)")
        #expect(text.hasSuffix("run: identityctl login --resource \(url) --client-id ID"), "\(text)")
    }

    /// After the question, a page for each message would be too many.
    @Test func opensOnePageAMinuteWhereTheServerFails() async throws {
        setup.provider.failAlways(.registration, with: .serverError(status: 503))
        let bridge = try bridge()
        #expect(text(try await bridge.answer(1)).contains("cannot register the program now (503)"))
        #expect(browser.question != nil)
        try bridge.type(#"{"id":2,"method":"x"}"#)
        let later = text(try await bridge.answer(2))
        #expect(later.contains("opened in the last minute") && later.contains("(503)"), "\(later)")
        #expect(setup.provider.count(of: .registration) == 1)
    }

    /// A renewed token is refused as well: the server may want tokens of another sign-in.
    @Test func signsInAnewWhereTheServerRefusesTheTokens() async throws {
        let bridge = try bridge()
        try await visit(bridge)
        _ = try await bridge.answer(1)
        for _ in 0..<2 { setup.provider.failNext(.resource, with: .answer(status: 401)) }
        let before = browser.address
        try bridge.type(#"{"id":2,"method":"x"}"#)
        try await visit(bridge, after: before)
        #expect(text(try await bridge.answer(2)).contains("no method, result or error"))
        #expect(setup.provider.count(of: .authorization) == 2)
        // One that refuses those as well is not asked for others.
        let page = browser.address
        setup.provider.failAlways(.resource, with: .answer(status: 401))
        try passAMinute()
        try bridge.type(#"{"id":3,"method":"x"}"#)
        try await visit(bridge, after: page)
        #expect(text(try await bridge.answer(3)).contains("tokens of a new sign-in either"))
        try passAMinute()
        try bridge.type(#"{"id":4,"method":"x"}"#)
        #expect(text(try await bridge.answer(4)).contains("no browser is opened for ten minutes"))
        #expect(setup.provider.count(of: .authorization) == 3)
    }

    private func passAMinute() throws {
        let root = "\(setup.directory.path)/.local/state/identityctl/helper-sign-in"
        for name in try FileManager.default.subpathsOfDirectory(atPath: root) where name.hasSuffix("/asked") {
            let past = Date.now.addingTimeInterval(-61)
            try FileManager.default.setAttributes([.modificationDate: past], ofItemAtPath: "\(root)/\(name)")
        }
    }

    @Test(
        arguments: [
            ([:], false), (["DISPLAY": ":0"], true), (["WAYLAND_DISPLAY": "wayland-0"], true),
            (["DISPLAY": ":0", "SSH_CONNECTION": "a"], false),
            (["DISPLAY": "localhost:10.0", "SSH_CONNECTION": "a"], false),
            (["BROWSER": "/opt/editor/browser.sh"], true), (["IDENTITYCTL_BROWSER": "firefox"], true),
            (["BROWSER": "/opt/editor/browser.sh", "SSH_CONNECTION": "a"], true),
            (["BROWSER": "firefox", "SSH_CONNECTION": "a", "DISPLAY": "localhost:10.0"], true),
            (["BROWSER": "firefox", "SSH_CONNECTION": "a", "DISPLAY": ":0"], false),
            (["BROWSER": "firefox", "SSH_CONNECTION": "a", "WAYLAND_DISPLAY": "wayland-0"], false),
            (["BROWSER": "w3m"], false), (["BROWSER": "/usr/bin/lynx %s:"], false), (["BROWSER": "w3m:firefox"], true),
        ] as [([String: String], Bool)]
    )
    func knowsWhetherAPageIsBeforeThePerson(_ variables: [String: String], _ isPossible: Bool) throws {
        let asking = try Asking.ofBridge(Variables(variables), showsPages: false)
        #expect(asking == (isPossible ? .atDesktop : .never))
    }

    /// The refresh token is spent when the bridge is killed.
    @Test func losesNoSignInIfTheHostEndsTheBridgeDuringARefresh() async throws {
        let first = try bridge()
        try await visit(first)
        _ = try await first.answer(1)
        let (gate, asked) = (TestGate(), setup.provider.count(of: .token))
        setup.provider.failNext(.token, with: .held(by: gate))
        setup.provider.failNext(.resource, with: .answer(status: 401))
        try first.type(#"{"id":2,"method":"x"}"#)
        try await first.poll("a refresh") { setup.provider.count(of: .token) > asked ? () : nil }
        #expect(first.interrupt(by: SIGKILL))
        gate.open()
        let next = try bridge()
        #expect(text(try await next.answer(1)).contains("no method, result or error"))
        #expect(setup.provider.count(of: .token) == asked + 1 && setup.provider.count(of: .authorization) == 1)
    }

    /// RFC 6750 §3.1
    @Test func asksForTheScopesThatTheServerDemands() async throws {
        let first = try bridge()
        try await visit(first)
        _ = try await first.answer(1)
        setup.provider.settings.resource?.demandedScopes = ["write"]
        let before = browser.address
        try first.type(#"{"id":2,"method":"x"}"#)
        let address = try await first.poll("another page") { browser.address.flatMap { $0 == before ? nil : $0 } }
        try await ScriptedBrowser(provider: nil).visit(try #require(URL(string: address)))
        #expect(text(try await first.answer(2)).contains("no method, result or error"))
        #expect(setup.provider.count(of: .authorization) == 2)
    }
}

/// Demands of a server that a person is signed in to.
@Suite(.serialized, .timeLimit(.minutes(1)))
final class MCPDemandProcessTests {
    private let browser = BrowserStandIn()
    private let server = Mutex<MCPServer?>(nil)

    /// A server that does nothing without the scope in `demand`, and a person who is signed in.
    private func bridge(
        _ more: [String: String] = [:],
        demanding demand: @escaping @Sendable (Int) -> String?
    ) async throws -> (Person, Tool) {
        let server = try MCPServer { request, message, before in
            guard message.string("method") == "x", let scope = demand(before) else { return nil }
            return LoopbackResponse(
                status: 403,
                headers: ["WWW-Authenticate": #"Bearer error="insufficient_scope", scope="\#(scope)""#]
            )
        }
        self.server.withLock { $0 = server }
        var person = try await server.person()
        person.variables["DISPLAY"] = ":99"
        person.variables["XDG_RUNTIME_DIR"] = person.home
        person.variables["IDENTITYCTL_BROWSER"] = try browser.command
        person.variables["IDENTITYCTL_PRINT_TOKEN"] = nil
        person.variables.merge(more) { $1 }
        return (person, try server.bridge(person))
    }

    private func visit(_ tool: Tool, after before: String? = nil) async throws {
        let address = try await tool.poll("a page") { browser.address.flatMap { $0 == before ? nil : $0 } }
        try await ScriptedBrowser(provider: nil).visit(try #require(URL(string: address)))
    }

    private func text(_ answer: JSONObject) -> String { answer.object("error")?.string("message") ?? "" }

    /// The answer of a server of tokens to the wish for more scopes at a refresh.
    enum Wish: String, CaseIterable {
        /// It refuses the wish, as the test's provider does.
        case refused
        /// It gives a token with the scopes of before.
        case ignored
        /// It does not tell the scopes, so that the token claims to have the wanted ones.
        case untold
    }

    /// Neither a token without the scope nor one that the API has refused is an answer.
    @Test(arguments: Wish.allCases) func asksThePersonIfATokenWithoutOneDoesNotHelp(wish: Wish) async throws {
        let signedIn = Mutex(false)
        let (person, bridge) = try await bridge { _ in signedIn.withLock(\.self) ? nil : "write" }
        let provider = person.setup.provider
        if wish != .refused {
            let scope = wish == .ignored ? #","scope":"openid profile offline_access files.read""# : ""
            let body = #"{"access_token":"renewed","token_type":"Bearer","expires_in":3600\#(scope)}"#
            provider.failNext(.token, with: .answer(status: 200, body: body))
        }
        let before = provider.count(of: .authorization)
        try bridge.type(#"{"id":1,"method":"x"}"#)
        _ = try await bridge.poll("a page") { browser.address }
        let page = try #require(browser.question)
        #expect(page.contains("The new scopes: write") && page.contains("demands more scopes than you have granted"))
        signedIn.withLock { $0 = true }
        try await visit(bridge)
        #expect(try await bridge.answer(1)["result"] != nil)
        #expect(provider.count(of: .authorization) == before + 1)
        // A token that lacks the scope by its own word is not tried.
        let sent = server.withLock { $0?.requests("x").map { $0.headers["Authorization"] } ?? [] }
        #expect(sent.count == (wish == .untold ? 3 : 2) && Set(sent).count == sent.count, "\(sent)")
        #expect(sent.contains("Bearer renewed") == (wish == .untold), "\(sent)")
    }

    /// A server demands another scope of each message.
    @Test func opensOnePageAMinute() async throws {
        let (person, bridge) = try await bridge { before in "scope-\(before)" }
        let provider = person.setup.provider
        let before = provider.count(of: .authorization)
        try bridge.type(#"{"id":1,"method":"x"}"#)
        try await visit(bridge)
        let first = text(try await bridge.answer(1))
        #expect(first.contains("opened in the last minute") && first.contains("identityctl login"), "\(first)")
        for id in 2...4 {
            try bridge.type(#"{"id":\#(id),"method":"x"}"#)
            let text = text(try await bridge.answer(id))
            #expect(text.contains("opened in the last minute"), "\(text)")
        }
        #expect(provider.count(of: .authorization) == before + 1)
        // What was asked for in vain is no demand of the next message.
        try bridge.type(#"{"id":5,"method":"usual"}"#)
        #expect(try await bridge.answer(5)["result"] != nil)
        // A minute later.
        let note = "\(person.home)/.local/state/identityctl/helper-sign-in/work/asked"
        let past = Date.now.addingTimeInterval(-61)
        try FileManager.default.setAttributes([.modificationDate: past], ofItemAtPath: note)
        let page = browser.address
        try bridge.type(#"{"id":6,"method":"x"}"#)
        try await visit(bridge, after: page)
        #expect(text(try await bridge.answer(6)).contains("opened in the last minute"))
        #expect(provider.count(of: .authorization) == before + 2)
    }

    @Test func aNoIsANo() async throws {
        let (person, other) = try await bridge(["PERSON_MODE": "disagree"]) { _ in "write" }
        let before = person.setup.provider.count(of: .authorization)
        try other.type(#"{"id":1,"method":"x"}"#)
        #expect(text(try await other.answer(1)).contains("identityctl login"))
        #expect(person.setup.provider.count(of: .authorization) == before)
        // The sign-in that was there before goes on.
        try other.type(#"{"id":2,"method":"usual"}"#)
        #expect(try await other.answer(2)["result"] != nil)
    }
}

/// `identityctl helper headers URL`
@Suite(.serialized, .timeLimit(.minutes(1)))
struct HeadersHelperProcessTests {
    @Test func printsTheHeaderOfARequestToAnAddress() async throws {
        let person = try await Person(serves: "https://mcp.test/notes")
        let token = try await person.login()
        for address in ["https://mcp.test/notes", "https://mcp.test/notes/a?b=c"] {
            let outcome = try await person.run(["helper", "headers", address])
            #expect(outcome.output == "{\"Authorization\":\"Bearer \(token)\"}\n" && outcome.status == 0, "\(outcome)")
        }
        for address in ["https://mcp.test/", "https://other.test/notes"] {
            let outcome = try await person.run(["helper", "headers", address])
            #expect(outcome.status == 2 && outcome.output.isEmpty, "\(outcome)")
            #expect(outcome.errors.contains("To sign in, run: identityctl login --resource \(address)"), "\(outcome)")
        }
        #expect(try await person.run(["helper", "headers", "ftp://x"]).status == 64)
    }

    /// A file of a project may name the command of one server and the address of another.
    @Test func printsNothingForAnotherServerThanTheProgramNames() async throws {
        var person = try await Person(serves: "https://mcp.test/notes")
        _ = try await person.login()
        for (asked, isAnswered) in [
            ("https://mcp.test/notes", true), ("https://mcp.test/notes/a?b=c", true), ("https://mcp.test/", false),
            ("https://evil.test/notes", false), ("https://mcp.test/notes2", false), ("x", false), ("", true),
        ] {
            person.variables["CLAUDE_CODE_MCP_SERVER_URL"] = asked
            let outcome = try await person.run(["helper", "headers", "https://mcp.test/notes"])
            #expect(
                outcome.status == (isAnswered ? 0 : 64) && outcome.output.isEmpty != isAnswered,
                "\(asked): \(outcome)"
            )
        }
    }

    @Test func takesTheSignInForTheAddress() async throws {
        let setup = try ToolSetup()
        setup.provider.settings.resource = TestIdentityProvider.Resource(scopes: ["read"])
        setup.provider.settings.registersClients = true
        let variables = [
            "HOME": setup.directory.path, "XDG_RUNTIME_DIR": setup.directory.path, "DISPLAY": ":99",
            "IDENTITYCTL_CACHE": "file:\(setup.directory.path)/cache", "IDENTITYCTL_BROWSER": BrowserStandIn.name,
        ]
        let url = setup.provider.resourceAddress
        let login = try Tool(["login", "--resource", url], variables)
        try await ScriptedBrowser(provider: nil).visit(try await login.shownAddress())
        #expect(try await login.outcome().status == 0)
        let outcome = try await Tool.run(["helper", "headers", url], variables)
        let token = try JSONObject(parsing: Array(outcome.output.utf8)).string("Authorization")?.split(separator: " ")
            .last
        #expect(setup.provider.accepts(accessToken: String(try #require(token))), "\(outcome)")
        let other = try await Tool.run(
            ["helper", "headers", url.replacingOccurrences(of: "/mcp", with: "/other")],
            variables
        )
        #expect(other.status == 2 && other.output.isEmpty, "\(other)")
        // After the sign-out the advice names the address.
        #expect(try await Tool.run(["logout", "--resource", url], variables).status == 0)
        let after = try await Tool.run(["helper", "headers", url], variables)
        #expect(after.status == 2 && after.errors.contains("identityctl login --resource \(url)"), "\(after)")
    }
}
