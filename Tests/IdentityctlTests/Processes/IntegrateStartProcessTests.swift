// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTesting
import LoopbackHTTP
import OAuthWire
import Synchronization
import Testing

@testable import identityctl

/// The end of `identityctl integrate` for an AI program: the sign-in, and the start of the entry as the program will start it.
@Suite(.serialized, .timeLimit(.minutes(1)))
final class IntegrateStartProcessTests {
    private let browser = BrowserStandIn()
    private let server: MCPServer

    init() throws {
        server = try MCPServer { request, message, _ in
            switch message.string("method") {
            case "initialize":
                let version = message.object("params")?.string("protocolVersion") ?? ""
                return MCPServer.json(message["id"], #"{"protocolVersion":"\#(version)","capabilities":{"tools":{}}}"#)
            case "tools/list": return MCPServer.json(message["id"], #"{"tools":[{"name":"a"},{"name":"b"}]}"#)
            default: return nil
            }
        }
    }

    private func person() async throws -> Person {
        var person = try await Person(serves: server.address)
        let desktop = [
            "DISPLAY": ":99", "XDG_RUNTIME_DIR": person.home, "IDENTITYCTL_BROWSER": try browser.command,
            "IDENTITYCTL_TIMEOUT": "50", "IDENTITYCTL_PRINT_TOKEN": "", "TERM": "dumb",
        ]
        person.variables.merge(desktop) { $1 }
        return person
    }

    private func integrate(_ tool: String, _ more: String...) -> [String] {
        ["integrate", tool, "--profile", "work", "--resource", server.address] + more
    }

    private func visit(_ tool: Tool) async throws {
        let address = try await tool.poll("a page") { browser.address }
        try await ScriptedBrowser(provider: nil).visit(try #require(URL(string: address)))
    }

    @Test(arguments: ["claude-code", "codex", "opencode"])
    func signsInAndStartsTheEntry(tool name: String) async throws {
        let person = try await person()
        let tool = try Tool(integrate(name, "--sign-in"), person.variables)
        try await visit(tool)
        let outcome = try await tool.outcome()
        #expect(outcome.status == 0, "\(outcome)")
        #expect(
            outcome.errorLines.last == "Started as \(name) does, the server has 2 tools, as alice@example.test.",
            "\(outcome)"
        )
        // The program's revision is remembered, so that its first start waits for nothing.
        let first = try JSONObject(parsing: try #require(server.requests("initialize").first).body, maximumDepth: 64)
        #expect(
            first.object("params")?.string("protocolVersion") == (name == "claude-code" ? "2025-11-25" : "2025-06-18")
        )
        // It is signed in, so that no other page opens.
        let again = try await person.run(integrate(name, "--sign-in"))
        #expect(again.status == 0 && again.errors.contains("Nothing to change"), "\(again)")
        #expect(person.setup.provider.count(of: .authorization) == 1)
    }

    /// The question is asked on a terminal, where an empty line is a yes.
    @Test(arguments: ["", "n"]) func asksOnATerminal(answer: String) async throws {
        let person = try await person()
        let terminal = try PseudoTerminal()
        let tool = try Tool(
            integrate("claude-code"),
            person.variables,
            terminal: terminal.terminal,
            redirections: "2>&0"
        )
        let shown = Mutex("")
        func wait(for text: String) async throws {
            try await tool.poll("\(text); so far: \(shown.withLock(\.self))") {
                shown.withLock { $0 += terminal.shown() }
                return shown.withLock { $0.contains(text) } ? () : nil
            }
        }
        try await wait(for: "Sign in now? [Y/n]")
        try terminal.type("\(answer)\n")
        if answer.isEmpty {
            try await visit(tool)
            try await wait(for: "Started as claude-code does, the server has 2 tools, as alice@example.test.")
        } else {
            try await wait(for: "To sign in, run: identityctl login --profile work")
            #expect(browser.address == nil && server.requests.isEmpty)
        }
        #expect(try await tool.outcome().status == 0)
    }

    @Test func asksNothingInAScript() async throws {
        let person = try await person()
        let outcome = try await person.run(integrate("claude-code"))
        #expect(outcome.status == 0, "\(outcome)")
        #expect(outcome.errorLines.last == "To sign in, run: identityctl login --profile work", "\(outcome)")
        #expect(browser.address == nil && server.requests.isEmpty)
        for more in ["--undo", "--dry-run"] {
            #expect(try await person.run(integrate("claude-code", "--sign-in", more)).status == 64)
        }
    }

    @Test func namesTheAccount() async throws {
        let person = try await person()
        let set = try await person.run(integrate("claude-code", "--account", "bob@example.com"))
        #expect(set.status == 0, "\(set)")
        let text = try #require(person.text(".claude.json"))
        #expect(
            text.contains(#"["mcp","--profile","work","--account","bob@example.com","\#(server.address)"]"#),
            "\(text)"
        )
        #expect(set.errorLines.last?.hasSuffix("login --profile work --account bob@example.com") == true, "\(set)")
        // The undo that it names takes this entry, and another account's is another entry.
        let other = try await person.run(integrate("claude-code", "--undo"))
        #expect(other.errors.contains("Nothing to change") && person.text(".claude.json") == text, "\(other)")
        let undone = try await person.run(integrate("claude-code", "--account", "bob@example.com", "--undo"))
        #expect(undone.status == 0 && person.text(".claude.json") == nil, "\(undone)")
        for wrong in ["", "a b", "${HOME}"] {
            #expect(try await person.run(integrate("claude-code", "--account", wrong)).status == 64)
        }
        #expect(try await person.run(["integrate", "git", "--account", "bob"]).status == 64)
    }
}
