// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTesting
import LoopbackHTTP
import OAuthWire
import Synchronization
import Testing

@testable import identityctl

/// The start of a host, which waits neither for a person nor, if it was there before, for the server.
@Suite(.serialized, .timeLimit(.minutes(1)))
final class MCPStartProcessTests {
    /// The server's answers.
    private struct Behaviour: Sendable {
        var version = "2025-11-25"
        var capabilities = #"{"tools":{},"prompts":{}}"#
        var tools = ["echo"]
        /// The token that it does not accept.
        var refused: String?
        var gate: TestGate?
        /// Whether it knows no revision after 2025-11-25, and when it says so.
        var isOlder = false
        var olderGate: TestGate?
        /// Its error in place of a session.
        var error: String?
    }

    private final class Answers: Sendable {
        let now = Mutex(Behaviour())
    }

    private static let list = #"{"id":1,"method":"tools/list"}"#
    private static let signIn = #"{"id":2,"method":"tools/call","params":{"name":"sign_in","arguments":{}}}"#
    private static let call = #"{"id":3,"method":"tools/call","params":{"name":"echo"}}"#

    private let answers = Answers()
    private let browser = BrowserStandIn()
    private let server: MCPServer

    init() throws {
        let answers = answers
        server = try MCPServer { request, message, _ in
            let now = answers.now.withLock(\.self)
            if let gate = now.gate { try? await gate.wait() }  // cancelled: the bridge is gone
            if let refused = now.refused, request.headers["Authorization"] == "Bearer \(refused)" {
                return LoopbackResponse(status: 401, headers: ["WWW-Authenticate": #"Bearer error="invalid_token""#])
            }
            switch message.string("method") {
            case "initialize" where now.error != nil:
                let error = #"{"code":-32603,"message":"\#(now.error ?? "")"}"#
                let text = #"{"jsonrpc":"2.0","id":\#(message["id"]?.jsonText ?? "null"),"error":\#(error)}"#
                return LoopbackResponse(status: 200, text: text, type: "application/json")
            case "initialize":
                let names = #""protocolVersion":"\#(now.version)","capabilities":\#(now.capabilities)"#
                var answer = MCPServer.json(message["id"], "{\(names)}")
                answer.headers.append("Mcp-Session-Id", "session-1")
                return answer
            case "server/discover" where now.isOlder:
                if let gate = now.olderGate { try? await gate.wait() }  // cancelled: the bridge is gone
                let error = #"{"code":-32601,"message":"Method not found"}"#
                let text = #"{"jsonrpc":"2.0","id":\#(message["id"]?.jsonText ?? "null"),"error":\#(error)}"#
                return LoopbackResponse(status: 400, text: text, type: "application/json")
            case "server/discover":
                let names = #""supportedVersions":["\#(now.version)"],"capabilities":\#(now.capabilities)"#
                return MCPServer.json(message["id"], "{\(names)}")
            case "tools/list":
                let tools = now.tools.map { #"{"name":"\#($0)","inputSchema":{"type":"object"}}"# }
                return MCPServer.json(message["id"], #"{"tools":[\#(tools.joined(separator: ","))]}"#)
            default: return nil
            }
        }
    }

    private func change(_ change: (inout Behaviour) -> Void) { answers.now.withLock { change(&$0) } }

    /// A person at a desktop.
    private func person(isSignedIn: Bool = true) async throws -> Person {
        var person = isSignedIn ? try await server.person() : try await Person(serves: server.address)
        let desktop = [
            "DISPLAY": ":99", "XDG_RUNTIME_DIR": person.home, "IDENTITYCTL_BROWSER": try browser.command,
            "IDENTITYCTL_TIMEOUT": "50", "IDENTITYCTL_PRINT_TOKEN": "",
        ]
        person.variables.merge(desktop) { $1 }
        return person
    }

    /// Starts a bridge as a host does.
    private func start(_ person: Person) throws -> Tool {
        let bridge = try server.bridge(person)
        for line in [MCPServer.initialize, MCPServer.initialized, Self.list] { try bridge.type(line) }
        return bridge
    }

    private func names(_ answer: JSONObject) -> [String] {
        (answer.object("result")?.array("tools") ?? []).compactMap {
            if case .object(let tool) = $0 { tool.string("name") } else { nil }
        }
    }

    private func text(_ answer: JSONObject) -> String {
        guard case .object(let part)? = answer.object("result")?.array("content")?.first else { return "" }
        return part.string("text") ?? ""
    }

    private func visit(_ tool: Tool) async throws {
        let address = try await tool.poll("a page; so far: \(tool.text)") { browser.address }
        try await ScriptedBrowser(provider: nil).visit(try #require(URL(string: address)))
    }

    /// Has a host start once, so that its answers are remembered.
    private func startOnce(_ person: Person) async throws {
        let bridge = try start(person)
        #expect(names(try await bridge.answer(1)) == answers.now.withLock(\.tools))
        try bridge.closeInput()
        #expect(try await bridge.outcome().status == 0)
    }

    @Test func answersAtOnceWhatItRemembers() async throws {
        let person = try await person()
        try await startOnce(person)
        let gate = TestGate()
        defer { gate.open() }
        change { ($0.gate, $0.tools) = (gate, ["echo", "new"]) }
        let bridge = try server.bridge(person)
        try bridge.type(MCPServer.initialize.replacing(#""id":0"#, with: #""id":"first""#))
        let first = try await bridge.answer(.string("first"))
        let capabilities = first.object("result")?.object("capabilities")
        #expect(capabilities?.object("tools")?.bool("listChanged") == true && capabilities?["prompts"] != nil)
        for line in [MCPServer.initialized, Self.list] { try bridge.type(line) }
        #expect(names(try await bridge.answer(1)) == ["echo"])
        try bridge.type(Self.call)
        // The session begins beside that, and the list of now is another one.
        gate.open()
        #expect(try await bridge.answer(3)["result"] != nil)
        _ = try await bridge.poll("the news of the list") {
            try? bridge.messages.first { $0.string("method") == "notifications/tools/list_changed" }
        }
        try bridge.type(#"{"id":4,"method":"tools/list"}"#)
        #expect(names(try await bridge.answer(4)) == ["echo", "new"])
        #expect(server.requests("tools/call").first?.headers["Mcp-Session-Id"] == "session-1")
        #expect(try bridge.messages.count { $0["id"] != nil } == 4)

        let directory = "\(person.home)/.local/state/identityctl/mcp-answers"
        let files = try FileManager.default.contentsOfDirectory(atPath: directory).filter { !$0.hasPrefix(".") }
        let file = "\(directory)/\(try #require(files.first))"
        #expect(files.count == 1)
        #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
        let kept = try await bridge.poll("the new list") {
            let text = try? String(contentsOfFile: file, encoding: .utf8)
            return text.flatMap { $0.contains(#""new""#) ? $0 : nil }
        }
        let token = try #require(server.requests.last?.headers["Authorization"]?.split(separator: " ").last)
        #expect(!kept.contains(token) && !kept.contains("session-1"), "\(kept)")
    }

    @Test func offersOneToolThatSignsIn() async throws {
        let person = try await person(isSignedIn: false)
        let bridge = try start(person)
        let first = try await bridge.answer(0).object("result")
        #expect(first?.string("protocolVersion") == "2025-11-25")
        #expect(first?.string("instructions")?.contains("identityctl login --profile work") == true)
        #expect(names(try await bridge.answer(1)) == ["sign_in"])
        try bridge.type(#"{"id":9,"method":"ping"}"#)
        #expect(try await bridge.answer(9)["result"] != nil)
        // Programs ask for lists by themselves.
        try bridge.type(#"{"id":8,"method":"prompts/list"}"#)
        let refused = try await bridge.answer(8).object("error")?.string("message")
        #expect(refused?.contains("identityctl login --profile work") == true, "\(refused ?? "")")
        // A start opens no page, and sends nothing.
        #expect(server.requests.isEmpty && browser.address == nil)
        try bridge.type(Self.signIn)
        try await visit(bridge)
        let answer = try await bridge.answer(2)
        #expect(answer.object("result")?.bool("isError") == false && text(answer).hasPrefix("Signed in."), "\(answer)")
        #expect(try bridge.messages.contains { $0.string("method") == "notifications/tools/list_changed" })
        try bridge.type(#"{"id":4,"method":"tools/list"}"#)
        #expect(names(try await bridge.answer(4)) == ["echo"])
        // The tool is the server's from now on, if it has one.
        try bridge.type(Self.signIn.replacing(#""id":2"#, with: #""id":5"#))
        #expect(try await bridge.answer(5).object("result")?.bool("done") == true)
    }

    @Test func saysWhatToRunWhereNoPageMayOpen() async throws {
        var person = try await person(isSignedIn: false)
        person.variables["IDENTITYCTL_SIGN_IN"] = "never"
        let bridge = try start(person)
        _ = try await bridge.answer(1)
        try bridge.type(Self.signIn)
        let answer = try await bridge.answer(2)
        #expect(answer.object("result")?.bool("isError") == true, "\(answer)")
        #expect(text(answer).contains("To sign in, run: identityctl login --profile work"), "\(answer)")
        // The same bridge finds a sign-in that was made elsewhere.
        person.variables["IDENTITYCTL_BROWSER"] = BrowserStandIn.name
        _ = try await person.login()
        try bridge.type(#"{"id":4,"method":"tools/list"}"#)
        #expect(names(try await bridge.answer(4)) == ["echo"])
        try bridge.type(Self.call)
        #expect(try await bridge.answer(3)["result"] != nil)
    }

    @Test func aSignInThatEndedEmptiesNoList() async throws {
        let person = try await person()
        try await startOnce(person)
        let token = try await person.run(["token", "--profile", "work"]).output.dropLast()
        change { $0.refused = String(token) }
        let refusal = #"{"error":"invalid_grant"}"#
        person.setup.provider.failNext(.token, with: .answer(status: 400, body: refusal))
        let bridge = try start(person)
        #expect(names(try await bridge.answer(1)) == ["echo"])
        #expect(browser.address == nil)
        try bridge.type(Self.call)
        try await visit(bridge)
        #expect(try await bridge.answer(3)["result"] != nil)
        #expect(person.setup.provider.count(of: .authorization) == 2)
    }

    /// The host was told what the server does not keep.
    @Test(arguments: [("2025-06-18", #"{"tools":{},"prompts":{}}"#), ("2025-11-25", #"{"tools":{}}"#)])
    func saysThatTheHostHasToBeginAnew(version: String, capabilities: String) async throws {
        let person = try await person()
        try await startOnce(person)
        change { ($0.version, $0.capabilities) = (version, capabilities) }
        let bridge = try start(person)
        #expect(try await bridge.answer(0).object("result")?.string("protocolVersion") == "2025-11-25")
        try bridge.type(Self.call)
        let error = try await bridge.answer(3).object("error")?.string("message") ?? ""
        #expect(error.contains("Start it anew in this program"), "\(error)")
        #expect(error.contains("'prompts'") == (version == "2025-11-25"), "\(error)")
        #expect(server.requests("tools/call").isEmpty)
        // The next start knows.
        let next = try start(person)
        let told = try await next.answer(0).object("result")
        #expect(told?.string("protocolVersion") == version)
        #expect((told?.object("capabilities")?["prompts"] == nil) == (version == "2025-11-25"))
        try next.type(Self.call)
        #expect(try await next.answer(3)["result"] != nil)
    }

    /// Revision 2026-07-28
    @Test func answersTheNewerRevisionAtOnceToo() async throws {
        change { $0.version = "2026-07-28" }
        let meta = #""params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#
        let (discover, list) = (
            #"{"id":0,"method":"server/discover",\#(meta)}"#, #"{"id":1,"method":"tools/list",\#(meta)}"#
        )
        let stranger = try await person(isSignedIn: false)
        let first = try server.bridge(stranger)
        try first.type(discover)
        try first.type(list)
        // A host that speaks several revisions goes on with another one, since none is known of the server.
        let error = try await first.answer(0).object("error")
        #expect(error?.integer("code") == -32601)
        #expect(error?.string("message")?.contains("identityctl login --profile work") == true)
        let result = try await first.answer(1).object("result")
        #expect(result?.string("resultType") == "complete" && result?.integer("ttlMs") == 0)
        #expect(server.requests.isEmpty)

        let person = try await person()
        let second = try server.bridge(person)
        try second.type(discover)
        try second.type(list)
        for id in 0...1 { #expect(try await second.answer(id)["result"] != nil) }
        try second.closeInput()
        #expect(try await second.outcome().status == 0)
        let gate = TestGate()
        defer { gate.open() }
        change { ($0.gate, $0.version) = (gate, "2027-01-01") }
        let third = try server.bridge(person)
        try third.type(discover)
        try third.type(list)
        for id in 0...1 { #expect(try await third.answer(id)["result"] != nil) }
        gate.open()
        let refused = try await third.poll("the refusal") {
            try? third.type(#"{"id":5,"method":"tools/call","params":{"name":"echo"}}"#)
            return try? third.messages.first { $0.object("error") != nil }
        }
        #expect(refused.object("error")?.string("message")?.contains("Start it anew") == true)
    }

    /// An error says nothing about the server's revision.
    @Test func beginsASessionAfterAnErrorThatPasses() async throws {
        let person = try await person()
        try await startOnce(person)
        change { $0.error = "Busy" }
        let bridge = try start(person)
        try bridge.type(Self.call)
        let error = try await bridge.answer(3).object("error")?.string("message")
        #expect(error == "The server begins no session now: Busy")
        change { $0.error = nil }
        try bridge.type(Self.call.replacing(#""id":3"#, with: #""id":4"#))
        #expect(try await bridge.answer(4)["result"] != nil)
    }

    /// Claude Code asks in the newer revision first, and goes on as soon as the bridge has an answer.
    @Test func aLateRefusalOfTheNewerRevisionEndsNoOlderSession() async throws {
        let meta = #""params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#
        let discover = #"{"id":7,"method":"server/discover",\#(meta)}"#
        func start(_ person: Person) async throws -> Tool {
            let bridge = try server.bridge(person)
            try bridge.type(discover)
            #expect(try await bridge.answer(7).object("error")?.integer("code") == -32601)
            for line in [MCPServer.initialize, MCPServer.initialized, Self.list] { try bridge.type(line) }
            #expect(names(try await bridge.answer(1)) == ["echo"])
            return bridge
        }
        let person = try await person()
        change { $0.isOlder = true }
        let first = try await start(person)
        try first.closeInput()
        #expect(try await first.outcome().status == 0)
        let gate = TestGate()
        defer { gate.open() }
        change { $0.olderGate = gate }
        let second = try await start(person)
        gate.open()
        for id in 20..<40 {
            try second.type(Self.call.replacing(#""id":3"#, with: #""id":\#(id)"#))
            #expect(try await second.answer(id)["result"] != nil)
        }
    }

    /// Hosts end a server that is silent for 30 s.
    @Test func waitsTwentySecondsForAServerThatIsNotRemembered() async throws {
        let gate = TestGate()
        defer { gate.open() }
        let person = try await person()
        change { $0.gate = gate }
        let bridge = try server.bridge(person)
        let start = ContinuousClock.now
        try bridge.type(MCPServer.initialize)
        let error = try await bridge.answer(0).object("error")?.string("message")
        #expect(error?.contains("did not answer within 20 s") == true, "\(error ?? "")")
        #expect((.seconds(19) ... .seconds(25)).contains(ContinuousClock.now - start))
    }
}
