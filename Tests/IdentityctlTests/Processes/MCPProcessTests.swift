// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityClient
import IdentityTesting
import LoopbackHTTP
import OAuthWire
import Testing

@testable import identityctl

/// `identityctl mcp`, between a host and a server that behaves.
@Suite(.timeLimit(.minutes(1)))
struct MCPProcessTests {
    /// Revisions up to 2025-11-25
    @Test func speaksTheOlderRevisions() async throws {
        let server = try MCPServer { request, message, _ in
            switch message.string("method") {
            case "tools/list":
                let text = MCPServer.line(message["id"], "\n{\"tools\":[]}").split(separator: "\n").map {
                    "data: \($0)\n"
                }
                return MCPServer.events(
                    ": hello\n\n",
                    #"data: {"method":"notifications/progress"}"# + "\n\n",
                    text.joined() + "\n"
                )
            default: return nil
            }
        }
        let person = try await server.person()
        let bridge = try server.bridge(person)
        for line in [
            MCPServer.initialize, MCPServer.initialized, #"{"id":1,"method":"tools/list"}"#, #"{"id":9,"result":{}}"#,
        ] {
            try bridge.type(line)
        }
        _ = try await bridge.answer(1)
        try await bridge.poll("the answer of the host") { server.requests.contains { $0.body.count == 20 } ? () : nil }
        try bridge.closeInput()
        let outcome = try await bridge.outcome()
        #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
        #expect(
            try bridge.messages.map { $0.string("method") ?? $0["id"]?.jsonText } == [
                "0", "notifications/progress", "1",
            ]
        )
        let token = try await person.run(["token", "--profile", "work"]).output.dropLast()
        for request in server.requests {
            #expect(request.headers["Authorization"] == "Bearer \(token)" && request.headers["Origin"] == nil)
        }
        let first = try #require(server.requests.first)
        #expect(first.headers["Content-Type"] == "application/json" && first.headers["Mcp-Session-Id"] == nil)
        #expect(
            first.headers["Accept"] == "application/json, text/event-stream"
                && first.headers["MCP-Protocol-Version"] == nil
        )
        for request in server.requests.dropFirst() {
            #expect(request.headers["Mcp-Session-Id"] == "session-1" && request.headers["Mcp-Method"] == nil)
            #expect(request.headers["MCP-Protocol-Version"] == "2025-11-25")
        }
        let order = server.requests.map { request in
            (try? JSONObject(parsing: request.body).string("method")) ?? request.method
        }
        #expect(order.prefix(2) == ["initialize", "notifications/initialized"] && order.last == "DELETE", "\(order)")
        #expect(order.contains("GET"))
    }

    /// Revision 2026-07-28: no session, no stream of the server's own, and a closed request is a cancelled one.
    @Test func speaksTheNewerRevision() async throws {
        let ended = TestGate()
        let server = try MCPServer { _, message, _ in
            switch message.string("method") {
            case "tools/list":
                let schema = #"{"properties":{"city":{"type":"string","x-mcp-header":"City"}}}"#
                let other = #"{"properties":{"city":{"type":"number","x-mcp-header":"City"}}}"#
                return MCPServer.json(
                    message["id"],
                    #"{"tools":[{"name":"weather","inputSchema":\#(schema)},{"name":"bad","inputSchema":\#(other)}]}"#
                )
            case "resources/read":
                return LoopbackResponse(
                    status: 200,
                    headers: ["Content-Type": "text/event-stream"],
                    body: .stream { writer in
                        defer { ended.open() }
                        while true { try await writer.write(Array(": still at it\n\n".utf8)) }
                    }
                )
            default: return nil
            }
        }
        let bridge = try server.bridge(try await server.person())
        let meta = #""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#
        try bridge.type(#"{"id":1,"method":"tools/list","params":{\#(meta)}}"#)
        let tools = try await bridge.answer(1).object("result")?.array("tools")
        #expect(tools?.count == 1)
        let arguments = #""arguments":{"city":"Köln"}"#
        try bridge.type(#"{"id":2,"method":"tools/call","params":{\#(meta),"name":"weather",\#(arguments)}}"#)
        _ = try await bridge.answer(2)
        try bridge.type(#"{"id":3,"method":"resources/read","params":{\#(meta),"uri":"file:///a"}}"#)
        try await bridge.poll("the request") { server.requests("resources/read").first.map { _ in } }
        try bridge.type(#"{"method":"notifications/cancelled","params":{"requestId":3,\#(meta)}}"#)
        try await ended.wait()
        try bridge.closeInput()
        let outcome = try await bridge.outcome()
        #expect(outcome.status == 0 && outcome.errors.contains("The tool bad is left out"), "\(outcome.errors)")
        #expect(try bridge.messages.compactMap { $0.integer("id") } == [1, 2])
        let call = try #require(server.requests("tools/call").first)
        #expect(call.headers["Mcp-Name"] == "weather" && call.headers["Mcp-Param-City"] == "=?base64?S8O2bG4=?=")
        for request in server.requests {
            #expect(request.method == "POST" && request.headers["Mcp-Session-Id"] == nil)
            #expect(request.headers["MCP-Protocol-Version"] == "2026-07-28")
            #expect(try request.headers["Mcp-Method"] == JSONObject(parsing: request.body).string("method"))
        }
        #expect(server.requests("notifications/cancelled").isEmpty)
    }

    @Test func oneThatTakesItsTimeHoldsUpNoOther() async throws {
        let gate = TestGate()
        defer { gate.open() }
        let server = try MCPServer { _, message, _ in
            if message.string("method") == "slow" { try? await gate.wait() }  // cancelled: the bridge is gone
            return nil
        }
        let bridge = try server.bridge(try await server.person())
        try bridge.type(#"{"id":1,"method":"slow"}"#)
        for id in 2..<40 { try bridge.type(#"{"id":\#(id),"method":"quick"}"#) }
        for id in 2..<40 { _ = try await bridge.answer(id) }
        #expect(try !bridge.messages.contains { $0.integer("id") == 1 })
        gate.open()
        _ = try await bridge.answer(1)
    }

    @Test func renewsATokenThatTheServerRefuses() async throws {
        let server = try MCPServer { _, _, before in
            guard before == 0 else { return nil }
            return LoopbackResponse(status: 401, headers: ["WWW-Authenticate": "Bearer error=\"invalid_token\""])
        }
        let person = try await server.person()
        let bridge = try server.bridge(person)
        try bridge.type(#"{"id":1,"method":"x"}"#)
        #expect(try await bridge.answer(1)["result"] != nil)
        #expect(Set(server.requests.compactMap { $0.headers["Authorization"] }).count == 2)
        #expect(person.setup.provider.count(of: .token) == 2)
    }

    /// Ten bridges may find the same token refused: the first renews it for all.
    @Test func renewsNoTokenThatIsNewer() async throws {
        let server = try MCPServer()
        let person = try await server.person()
        let provider = person.setup.provider
        let kept = try await person.run(["token", "--profile", "work"]).output.dropLast()
        let before = provider.count(of: .token)
        func renew(_ digest: String) async throws {
            let outcome = try await person.run(["mcp", server.address, "--renew=\(digest)"])
            #expect(outcome.status == 0 && outcome.output.isEmpty, "\(outcome)")
        }
        try await renew("expired")
        try await renew(Digest.hexadecimal(of: ["an older token"]))
        #expect(provider.count(of: .token) == before)
        for _ in 0..<2 { try await renew(Digest.hexadecimal(of: [String(kept)])) }
        #expect(provider.count(of: .token) == before + 1)
        #expect(try await person.run(["token", "--profile", "work"]).output.dropLast() != kept)
    }

    @Test func takesTheTokenOfAnAgentThatServesTheAddress() async throws {
        let (server, other) = (try MCPServer(), try MCPServer())
        let person = try await server.person()
        let socket = "\(person.home)/run/agent.sock"
        let agent = try Tool(["agent", "--socket", socket], person.variables)
        _ = try await agent.errorLine { $0.hasPrefix("The agent listens.") }
        // As on another machine, which has no profile.
        let variables = ["IDENTITYCTL_AGENT": socket, "HOME": "/nonexistent", "DISPLAY": ":99"]
        let bridge = try Tool(["mcp", server.address], variables)
        try bridge.type(#"{"id":1,"method":"x"}"#)
        #expect(try await bridge.answer(1)["result"] != nil)
        let stranger = try Tool(["mcp", other.address], variables)
        try stranger.type(#"{"id":1,"method":"x"}"#)
        let text = try await stranger.answer(1).object("error")?.string("message")
        #expect(text?.contains("No profile of the agent serves \(other.address)") == true, "\(text ?? "")")
        #expect(other.requests.isEmpty)
    }

    private static let nameless = #"{"jsonrpc":"2.0","id":null,"error":{"code":-32004,"message":"Unsupported"}}"#

    /// An event of `nameless`, by `gzip -9n`.
    private static let compressed: [UInt8] = [
        0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x0D, 0xC8, 0xB1, 0x0D, 0x80, 0x20,
        0x10, 0x05, 0xD0, 0x9E, 0x29, 0xCC, 0xAF, 0xD1, 0x10, 0xB4, 0xBA, 0x3D, 0x1C, 0x80, 0x70, 0xC4,
        0x68, 0x10, 0xC8, 0x01, 0x15, 0x61, 0x77, 0x7D, 0xE5, 0x63, 0xD7, 0x1C, 0x2D, 0x03, 0x4F, 0xCD,
        0x49, 0x8A, 0x07, 0xC1, 0x6E, 0x06, 0x1A, 0x37, 0x83, 0x52, 0x8F, 0x51, 0x23, 0x88, 0x64, 0x01,
        0x0D, 0xF8, 0xCC, 0x01, 0xB4, 0xEE, 0xD6, 0x98, 0x43, 0xE3, 0x0D, 0xB5, 0xBA, 0xEB, 0x0F, 0x9C,
        0xA9, 0xF6, 0x52, 0xB2, 0xB4, 0xC0, 0x98, 0x53, 0xA9, 0x0F, 0x08, 0x35, 0x47, 0x24, 0x53, 0x00,
        0x00, 0x00,
    ]

    @Test func errorsOfHTTPAreErrorsOfTheRequest() async throws {
        let server = try MCPServer { _, message, _ in
            switch message.string("method") {
            case "own":
                return LoopbackResponse(status: 400, text: Self.nameless, type: "application/json")
            case "plain": return LoopbackResponse(status: 500, text: "<html>")
            case "nothing": return LoopbackResponse(status: 202)
            case "other": return MCPServer.json(.integer(99), "{}")
            case "nameless": return LoopbackResponse(status: 200, text: Self.nameless, type: "application/json")
            case "namelessEvent": return MCPServer.events("data: \(Self.nameless)\n\n")
            case "server/discover": return LoopbackResponse(status: 405, text: "no")
            case "marked":
                return LoopbackResponse(status: 200, text: "\u{FEFF}" + Self.nameless, type: "application/json")
            case "compressed":
                return LoopbackResponse(
                    status: 200,
                    headers: ["Content-Type": "text/event-stream", "Content-Encoding": "gzip"],
                    body: .bytes(Self.compressed)
                )
            case "plan":
                return LoopbackResponse(
                    status: 403,
                    headers: ["Content-Type": "text/plain"],
                    body: .bytes(Array("No plan".utf8))
                )
            case "late": return LoopbackResponse(status: 429, headers: ["Retry-After": "30"])
            case "refused": return LoopbackResponse(status: 401)
            default: return nil
            }
        }
        let bridge = try server.bridge(try await server.person())
        let expected = [
            ("own", "Unsupported"), ("plain", "status 500"), ("nothing", "gave no answer"),
            ("other", "another request"), ("nameless", "Unsupported"), ("namelessEvent", "Unsupported"),
            ("server/discover", "older transport"), ("marked", "Unsupported"), ("compressed", "Unsupported"),
            ("plan", "status 403: No plan."), ("late", "status 429. Try again in 30 s."),
            ("refused", "identityctl login --profile work"),
        ]
        for (index, (method, _)) in expected.enumerated() {
            try bridge.type(#"{"id":\#(index),"method":"\#(method)"}"#)
        }
        for (index, (method, words)) in expected.enumerated() {
            let error = try await bridge.answer(index).object("error")
            #expect(error?.string("message")?.contains(words) == true, "\(method): \(error?.jsonText ?? "")")
            #expect(error?.integer("code") == (words == "Unsupported" ? -32004 : -32000))
            if method == "late" { #expect(error?.object("data")?.integer("retryAfter") == 30) }
        }
        #expect(try bridge.messages.count == expected.count)
    }
}

extension JSONObject {
    fileprivate var jsonText: String { String(decoding: serialized(), as: UTF8.self) }
}
