// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTesting
import LoopbackHTTP
import OAuthWire
import Testing

@testable import identityctl

/// The streams between `identityctl mcp` and its server.
@Suite(.timeLimit(.minutes(1)))
struct MCPStreamProcessTests {
    /// Events that are no message: of another name, without a method, and no JSON.
    private static let strays = [
        "event: ping\ndata: x\n\n", "event: endpoint\ndata: /messages?session=1\n\n",
        "data: {\"type\":\"heartbeat\"}\n\n", "data: x\n\n", ": a comment\n\n",
    ].joined()

    @Test func noStrayEventEndsACall() async throws {
        let server = try MCPServer { _, message, _ in
            guard message.string("method") == "call" else { return nil }
            return MCPServer.events(Self.strays, "data: \(MCPServer.line(message["id"], "{}"))\n\n")
        }
        let bridge = try server.bridge(try await server.person())
        try bridge.type(#"{"id":1,"method":"call"}"#)
        #expect(try await bridge.answer(1)["result"] != nil)
        try bridge.closeInput()
        let outcome = try await bridge.outcome()
        #expect(outcome.errors.contains("is skipped. A message has no method") && outcome.errorLines.count == 1)
    }

    @Test func noStrayEventEndsTheServersOwnStream() async throws {
        let gate = TestGate()
        defer { gate.open() }
        let server = try MCPServer { request, _, _ in
            guard request.method == "GET" else { return nil }
            let event = #"data: {"method":"notifications/tools/list_changed"}"#
            return MCPServer.events(Self.strays, event + "\n\n") { try await gate.wait() }
        }
        let bridge = try server.bridge(try await server.person())
        for line in [MCPServer.initialize, MCPServer.initialized] { try bridge.type(line) }
        _ = try await bridge.poll("the notification") {
            try? bridge.messages.first { $0.string("method") == "notifications/tools/list_changed" }
        }
        #expect(server.requests("GET").count == 1)
    }

    /// SEP-1699, revision 2025-11-25
    @Test func asksAgainAsLongAsTheServerAnswers() async throws {
        let server = try MCPServer { request, message, before in
            switch (request.method, request.headers["Last-Event-ID"]) {
            case ("POST", _) where message.string("method") == "long":
                return MCPServer.events("retry: 1\nid: 0\ndata:\n\n")
            case ("GET", let last?) where before == 4: return LoopbackResponse(status: last == "4" ? 503 : 400)
            case ("GET", _?) where before < 12: return MCPServer.events("id: \(before + 1)\ndata:\n\n")
            case ("GET", _?): return MCPServer.events("data: \(MCPServer.line(.integer(1), "{}"))\n\n")
            default: return nil
            }
        }
        let bridge = try server.bridge(try await server.person())
        try bridge.type(#"{"id":1,"method":"long"}"#)
        #expect(try await bridge.answer(1)["result"] != nil)
        #expect(server.requests("long").count == 1 && server.requests("GET").count == 13)
    }

    @Test func resumesAnAnswerThatBroke() async throws {
        let server = try MCPServer { request, message, before in
            switch (request.method, request.headers["Last-Event-ID"]) {
            case ("POST", _) where message.string("method") == "long":
                return MCPServer.events("retry: 1\nid: a\ndata:\n\n", #"data: {"method":"progress"}"# + "\n\n")
            // Nothing yet, and no event: the next attempt comes.
            case ("GET", "a"?) where before == 0: return MCPServer.events("")
            case ("GET", "a"?): return MCPServer.events("data: \(MCPServer.line(.integer(1), "{}"))\n\n")
            default: return nil
            }
        }
        let bridge = try server.bridge(try await server.person())
        try bridge.type(#"{"id":1,"method":"long"}"#)
        #expect(try await bridge.answer(1)["result"] != nil)
        #expect(server.requests("long").count == 1 && server.requests("GET").count == 2)
        // Without a place to go on from, the host is told.
        let broken = try MCPServer { _, message, _ in message["id"] == nil ? nil : MCPServer.events("data: {\n") }
        let other = try broken.bridge(try await broken.person())
        try other.type(#"{"id":1,"method":"long"}"#)
        let text = try await other.answer(1).object("error")?.string("message")
        #expect(text?.contains("broke before the answer") == true, "\(text ?? "")")
    }

    @Test func bringsTheServersOwnMessages() async throws {
        let gate = TestGate()
        defer { gate.open() }
        let server = try MCPServer { request, _, before in
            guard request.method == "GET" else { return nil }
            let event = #"{"id":\#(before),"method":"sampling/createMessage"}"#
            guard before == 0 else { return MCPServer.events("data: \(event)\n\n") { try await gate.wait() } }
            return MCPServer.events("retry: 1\nid: e1\ndata: \(event)\n\n")
        }
        let bridge = try server.bridge(try await server.person())
        for line in [MCPServer.initialize, MCPServer.initialized] { try bridge.type(line) }
        for id in 0...1 {
            _ = try await bridge.poll("a request") {
                try? bridge.messages.first { $0.integer("id") == id && $0.string("method") == "sampling/createMessage" }
            }
        }
        #expect(server.requests("GET").map { $0.headers["Last-Event-ID"] } == [nil, "e1"])
    }
}
