// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTestSupport
import IdentityTesting
import LoopbackHTTP
import OAuthWire
import Synchronization
import Testing

@testable import identityctl

/// The ends of sessions, requests, connections and the input of `identityctl mcp`.
@Suite(.timeLimit(.minutes(1)))
struct MCPSessionProcessTests {
    /// The specification has 404; the other answers are those of servers that are used.
    @Test(arguments: [
        (404, ""), (410, ""), (401, ""), (400, "Bad Request: No valid session ID provided"),
        (400, #"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: Server not initialized"}}"#),
    ])
    func beginsASessionAnewThatTheServerForgot(status: Int, words: String) async throws {
        let server = try MCPServer { request, message, before in
            switch message.string("method") {
            case "initialize" where before > 0:
                var answer = MCPServer.json(message["id"], #"{"protocolVersion":"2025-11-25"}"#)
                answer.headers.append("Mcp-Session-Id", "session-2")
                return answer
            case "call" where request.headers["Mcp-Session-Id"] == "session-1":
                return LoopbackResponse(status: status, text: words)
            case "bad": return LoopbackResponse(status: 400, text: "no such tool")
            default: return nil
            }
        }
        let bridge = try server.bridge(try await server.person())
        for line in [MCPServer.initialize, MCPServer.initialized] { try bridge.type(line) }
        _ = try await bridge.answer(0)
        try bridge.type(#"{"id":9,"method":"bad"}"#)
        #expect(try await bridge.answer(9).object("error")?.string("message")?.contains("no such tool") == true)
        for id in 1...5 { try bridge.type(#"{"id":\#(id),"method":"call"}"#) }
        for id in 1...5 { #expect(try await bridge.answer(id)["result"] != nil) }
        #expect(server.requests("initialize").count == 2 && server.requests("notifications/initialized").count == 2)
        #expect(try bridge.messages.count { $0.integer("id") == 0 } == 1)
    }

    /// A session that begins anew helps nothing if it is the sign-in that has ended.
    @Test func asksForASignInIfTheNewSessionIsRefusedToo() async throws {
        let server = try MCPServer { _, message, before in
            let isFirst = message.string("method") == "initialize" && before == 0
            return isFirst || message["id"] == nil ? nil : LoopbackResponse(status: 401)
        }
        let bridge = try server.bridge(try await server.person())
        for line in [MCPServer.initialize, MCPServer.initialized] { try bridge.type(line) }
        _ = try await bridge.answer(0)
        try bridge.type(#"{"id":1,"method":"call"}"#)
        let error = try await bridge.answer(1).object("error")
        #expect(error?.string("message")?.contains("identityctl login --profile work") == true)
    }

    /// Up to revision 2025-11-25 the server is told, and the stream that it may leave open is given back.
    @Test func cancelledRequestsMakeRoom() async throws {
        let gate = TestGate()
        defer { gate.open() }
        let server = try MCPServer { _, message, _ in
            message.string("method") == "slow" ? MCPServer.events(": wait\n\n") { try await gate.wait() } : nil
        }
        let bridge = try server.bridge(try await server.person())
        for id in 0..<256 { try bridge.type(#"{"id":\#(id),"method":"slow"}"#) }
        try await bridge.poll("256 requests") { server.requests("slow").count == 256 ? () : nil }
        for id in 0..<256 {
            try bridge.type(#"{"method":"notifications/cancelled","params":{"requestId":\#(id)}}"#)
        }
        try await bridge.poll("256 cancellations") {
            server.requests("notifications/cancelled").count == 256 ? () : nil
        }
        var next = 1000
        _ = try await bridge.poll("room") {
            next += 1
            try? bridge.type(#"{"id":\#(next),"method":"usual"}"#)  // a bridge that has ended answers nothing
            return try? bridge.messages.first { ($0.integer("id") ?? 0) >= 1000 && $0["result"] != nil }
        }
        #expect(try !bridge.messages.contains { ($0.integer("id") ?? 1000) < 1000 })
    }

    /// The request's body still leaves when its cancellation comes.
    @Test func noCancellationOvertakesItsRequest() async throws {
        let door = Door()
        defer { door.open() }
        let cancellation = #"{"method":"notifications/cancelled","params":{"requestId":1}}"#
        let wasOpen = Door.Note()
        let server = try ScriptedServer(readsBodies: false) { request in
            guard request.line.hasPrefix("POST") else { return [.close] }
            switch request.values("Content-Length").first.flatMap({ Int($0) }) ?? 0 {
            case 1_000_000...:
                door.wait()
                return [.discardBody, .stall]
            case cancellation.utf8.count:
                wasOpen.note(door.isOpen)
                return [.discardBody, .send(Array("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n".utf8))]
            default:
                let body = #"{"id":2,"result":{}}"#
                let head =
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
                return [.discardBody, .send(Array((head + body).utf8))]
            }
        }
        defer { server.close() }
        let address = "http://127.0.0.1:\(server.port)/mcp"
        let person = try await Person(serves: address)
        _ = try await person.login()
        let bridge = try Tool(["mcp", address], person.variables)
        let text = String(repeating: "x", count: 7_000_000)
        try bridge.type(#"{"id":1,"method":"tools/call","params":{"text":"\#(text)"}}"#)
        try await bridge.poll("the request") { server.requests.isEmpty ? nil : () }
        try bridge.type(cancellation)
        try bridge.type(#"{"id":2,"method":"ping"}"#)
        _ = try await bridge.answer(2)
        door.open()
        try await bridge.poll("the cancellation") { wasOpen.values.isEmpty ? nil : () }
        #expect(wasOpen.values == [true])
        // The connection of the request is given back.
        try bridge.closeInput()
        #expect(try await bridge.outcome().status == 0)
    }

    @Test func answersWhatIsOpenAtTheEndOfTheInput() async throws {
        let gate = TestGate()
        defer { gate.open() }
        let server = try MCPServer { _, message, _ in
            if message.string("method") == "slow" { try? await gate.wait() }  // cancelled: the bridge is gone
            return nil
        }
        let bridge = try server.bridge(try await server.person())
        try bridge.type(#"{"id":1,"method":"slow"}"#)
        try bridge.type(#"{"method":"slow"}"#)
        try bridge.type(#"{"id":2,"method":"quick"}"#)
        try bridge.closeInput()
        let outcome = try await bridge.outcome()
        let messages = try bridge.messages
        #expect(outcome.status == 0 && messages.count == 2, "\(outcome)")
        let error = messages.first { $0.integer("id") == 1 }?.object("error")
        #expect(error?.string("message")?.contains("The input ended before the server's answer") == true, "\(outcome)")
        #expect(messages.contains { $0.integer("id") == 2 && $0["result"] != nil })
    }

    /// A server may close a connection at the moment in which it is used again.
    @Test(arguments: [("tools/list", 2), ("tools/call", 1)])
    func sendsOnlyWhatReadsASecondTime(method: String, count: Int) async throws {
        let server = try ScriptedServer { request in
            guard request.connection > 0 else { return [.close] }
            let body = #"{"id":1,"result":{}}"#
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
            return [.send(Array((head + body).utf8))]
        }
        defer { server.close() }
        let address = "http://127.0.0.1:\(server.port)/mcp"
        let person = try await Person(serves: address)
        _ = try await person.login()
        let bridge = try Tool(["mcp", address], person.variables)
        try bridge.type(#"{"id":1,"method":"\#(method)"}"#)
        let answer = try await bridge.answer(1)
        #expect((answer["result"] != nil) == (count == 2))
        #expect(server.requests.count == count)
    }

    /// A call waits as long as the server takes, and the system looks whether the server is still there.
    @Test func anAnswerIsWaitedForOnAConnectionThatIsProbed() async throws {
        let gate = TestGate()
        defer { gate.open() }
        let server = try MCPServer { _, message, _ in
            if message.string("method") == "slow" { try? await gate.wait() }  // cancelled: the bridge is gone
            return nil
        }
        let bridge = try server.bridge(try await server.person())
        try bridge.type(#"{"id":1,"method":"slow"}"#)
        try await bridge.poll("the request") { server.requests("slow").isEmpty ? nil : () }
        // proc_pid_net(5): the state 01 is an established connection, and the timer 02 that of its probes.
        let port = try #require(URL(string: server.address)?.port)
        let remote = "0100007F:" + String(format: "%04X", port)
        try await bridge.poll("probes") {
            let table = FileHandle(forReadingAtPath: "/proc/net/tcp")?.readDataToEndOfFile() ?? Data()
            let rows = String(decoding: table, as: UTF8.self).split(separator: "\n")
            return rows.contains { row in
                let columns = row.split(separator: " ")
                return columns.count > 5 && columns[2] == remote && columns[3] == "01" && columns[5].hasPrefix("02:")
            } ? () : nil
        }
    }
}

/// Holds up a thread until it is opened.
private final class Door: Sendable {
    private let condition = NSCondition()
    private let state = Mutex(false)

    var isOpen: Bool { state.withLock(\.self) }

    func open() {
        state.withLock { $0 = true }
        condition.lock()
        condition.broadcast()
        condition.unlock()
    }

    func wait() {
        condition.lock()
        while !isOpen { condition.wait() }
        condition.unlock()
    }

    final class Note: Sendable {
        private let all = Mutex<[Bool]>([])
        var values: [Bool] { all.withLock(\.self) }
        func note(_ value: Bool) { all.withLock { $0.append(value) } }
    }
}
