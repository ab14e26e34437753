// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityTestSupport
import IdentityTesting
import LoopbackHTTP
import OAuthWire
import Testing

@testable import identityctl

/// `identityctl mcp`, between hosts and servers that mean harm.
@Suite(.timeLimit(.minutes(1)))
struct MCPHostilityProcessTests {
    private static let bad = Array("{\"id\":1,\"result\":\"".utf8) + [0xC3, 0x28] + Array("\"}".utf8)

    @Test func noServerFloodsOrForges() async throws {
        let gate = TestGate()
        defer { gate.open() }
        let server = try MCPServer { _, message, _ in
            let id = message["id"]
            switch message.string("method") {
            case "large":
                return LoopbackResponse(
                    status: 200,
                    headers: ["Content-Type": "application/json"],
                    body: .stream { writer in
                        try await writer.write(Array(#"{"id":1,"result":""#.utf8))
                        for _ in 0..<64 { try await writer.write([UInt8](repeating: 0x61, count: 1 << 20)) }
                    }
                )
            case "endless":
                return LoopbackResponse(
                    status: 200,
                    headers: ["Content-Type": "text/event-stream"],
                    body: .stream { writer in
                        while true {
                            try await writer.write(Array("data: \(String(repeating: "x", count: 60_000))\n".utf8))
                        }
                    }
                )
            case "broken":
                return LoopbackResponse(
                    status: 200,
                    headers: ["Content-Type": "application/json"],
                    body: .bytes(Self.bad)
                )
            case "brokenEvent":
                let event = Array("data: ".utf8) + Self.bad + [0x0A, 0x0A]
                return LoopbackResponse(
                    status: 200,
                    headers: ["Content-Type": "text/event-stream"],
                    body: .bytes(event)
                )
            case "number": return MCPServer.json(id, "[01x, NaN]")
            case "forged":
                return LoopbackResponse(
                    status: 200,
                    text: MCPServer.line(id, "1") + "\n{\"method\":\"x\"}",
                    type: "application/json"
                )
            case "afterwards":
                return MCPServer.events("data: \(MCPServer.line(id, "{}"))\n\n") { try await gate.wait() }
            case "initialize":
                var answer = MCPServer.json(id, #"{"protocolVersion":"2025-11-25"}"#)
                answer.headers.append("Mcp-Session-Id", "a b\u{1}")
                return answer
            default: return nil
            }
        }
        let bridge = try server.bridge(try await server.person())
        let expected = [
            "large": "at most 16 MiB", "endless": "at most 16 MiB", "broken": "not UTF-8", "brokenEvent": "not UTF-8",
            "forged": "More than one message", "number": "no JSON object", "initialize": "named a session",
        ]
        for (method, words) in expected {
            try bridge.type(#"{"id":"\#(method)","method":"\#(method)"}"#)
            let error = try await bridge.answer(.string(method)).object("error")?.string("message")
            #expect(error?.contains(words) == true, "\(method): \(error ?? "")")
        }
        // An answer counts at once, whatever the stream does then; and all goes on.
        try bridge.type(#"{"id":"afterwards","method":"afterwards"}"#)
        #expect(try await bridge.answer(.string("afterwards"))["result"] != nil)
        try bridge.type(#"{"id":"usual","method":"usual"}"#)
        #expect(try await bridge.answer(.string("usual"))["result"] != nil)
        #expect(try bridge.messages.count == expected.count + 2)
    }

    /// The body of an error is looked at for the server's words, and neither kept nor waited for.
    @Test func noErrorGoesOnForEver() async throws {
        let (gate, written) = (TestGate(), Shared(0))
        defer { gate.open() }
        let server = try MCPServer { _, message, _ in
            guard let method = message.string("method"), ["flood", "stall"].contains(method) else { return nil }
            return LoopbackResponse(
                status: 500,
                headers: ["Content-Type": "text/plain"],
                body: .stream { writer in
                    try await writer.write(Array("words".utf8))
                    if method == "stall" { try await gate.wait() }
                    while true {
                        try await writer.write([UInt8](repeating: 0x61, count: 60_000))
                        written.withLock { $0 += 60_000 }
                    }
                }
            )
        }
        let bridge = try server.bridge(try await server.person())
        for method in ["flood", "stall"] { try bridge.type(#"{"id":"\#(method)","method":"\#(method)"}"#) }
        for method in ["flood", "stall"] {
            let error = try await bridge.answer(.string(method)).object("error")?.string("message")
            #expect(error?.contains("status 500") == true && error?.contains("words") == false, "\(error ?? "")")
        }
        // No more than what waits in the buffers of a connection.
        #expect(written.value < 16 << 20, "\(written.value)")
    }

    @Test(arguments: [301, 302, 303, 307, 308]) func noTokenFollowsARedirect(status: Int) async throws {
        let other = try MCPServer()
        let server = try MCPServer { _, _, _ in LoopbackResponse(status: status, headers: ["Location": other.address]) }
        let bridge = try server.bridge(try await server.person())
        try bridge.type(#"{"id":1,"method":"x"}"#)
        let error = try await bridge.answer(1).object("error")?.string("message")
        #expect(error?.contains("redirects to \(other.address)") == true, "\(error ?? "")")
        // The stream of the server's own messages neither.
        try bridge.type(MCPServer.initialized)
        try bridge.closeInput()
        _ = try await bridge.outcome()
        #expect(other.requests.isEmpty)
    }

    @Test func noHostConfusesIt() async throws {
        let gate = TestGate()
        defer { gate.open() }
        let server = try MCPServer { _, message, _ in
            if message.string("method") == "slow" { try? await gate.wait() }  // cancelled: the bridge is gone
            return nil
        }
        let bridge = try server.bridge(try await server.person())
        let lines: [(line: String, answer: (id: JSONValue, words: String)?)] = [
            ("{\"id\":1,", (.integer(1), "no JSON object")), ("\u{0}", (.null, "no JSON object")), ("", nil),
            ("[]", (.null, "empty")),
            (#"{"id":2,"method":""# + String(repeating: "a", count: 17 << 20) + "\"}", (.integer(2), "at most 16 MiB")),
            (#"[{"id":3,"method":"a"},{"method":"b"},{"id":4,"method":"c"}]"#, nil),
            (
                #"{"id":5,"method":"a\u0000\r\nX: y","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"1\r\n2"}}}"#,
                (.integer(5), "no version")
            ),
            (
                #"{"id":6,"method":"a\r\nX: y","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
                nil
            ),
            (#"{"method":"notifications/cancelled","params":{"requestId":{"a":1}}}"#, nil),
        ]
        for (line, answer) in lines {
            try bridge.type(line)
            guard let answer else { continue }
            _ = try await bridge.poll("'\(answer.words)' for \(line.prefix(60)); \(bridge.text.suffix(300))") {
                try? bridge.messages.first {
                    $0["id"] == answer.id && $0.object("error")?.string("message")?.contains(answer.words) == true
                }
            }
        }
        for id in [3, 4, 6] { #expect(try await bridge.answer(id)["result"] != nil) }
        // The same id twice, and more requests than are taken.
        for _ in 0..<2 { try bridge.type(#"{"id":7,"method":"x"}"#) }
        _ = try await bridge.poll("two answers") {
            (try? bridge.messages.count { $0.integer("id") == 7 } == 2) == true ? () : nil
        }
        for id in 1000..<1300 { try bridge.type(#"{"id":\#(id),"method":"slow"}"#) }
        let refused = try await bridge.poll("a refusal") {
            try? bridge.messages.first { $0.object("error")?.string("message")?.contains("256 messages wait") == true }
        }
        #expect((refused.integer("id") ?? 0) >= 1256)
        // The end of the input ends all, with half a message at its end.
        try bridge.typeBytes(Array("{\"id\":8,\"met".utf8))
        try bridge.closeInput()
        #expect(try await bridge.outcome().status == 0)
        #expect(server.requests.allSatisfy { $0.headers["X"] == nil })
    }

    @Test func endsWhenTheHostReadsNoMore() async throws {
        let server = try MCPServer()
        let person = try await server.person()
        let tool = try Tool(
            shell:
                "exec 3>&1; (echo '{\"id\":1,\"method\":\"x\"}'; exec sleep 25) | (\(Person.program) mcp \(server.address); echo ended $? >&3) | true",
            person.variables
        )
        _ = try await tool.poll("the end") { tool.text.hasPrefix("ended") ? () : nil }
        tool.interrupt(by: SIGKILL)
    }

    /// A project's file can give any option, and so lead the token elsewhere.
    @Test(arguments: [
        ["--proxy", "http://127.0.0.1:9"], ["--ca-file", "/dev/null"], ["--cache", "memory"],
        ["--token-parameter", "resource=https://other.test"],
    ])
    func noOptionLeadsTheTokenElsewhere(option: [String]) async throws {
        let server = try MCPServer()
        let person = try await server.person()
        for more in [[], ["--profile", "work"], ["--sign-in"], ["--renew=expired"]] {
            let bridge = try Tool(["mcp", server.address] + option + more, person.variables)
            try bridge.closeInput()
            let outcome = try await bridge.outcome()
            #expect(outcome.status == 64 && outcome.errors.contains("takes no \(option[0])"), "\(outcome)")
            #expect(outcome.errors.contains("IDENTITYCTL_") && outcome.errors.contains("profile add"), "\(outcome)")
        }
        #expect(server.requests.isEmpty)
        // A profile or a variable is the person's word.
        let name = "IDENTITYCTL_" + option[0].dropFirst(2).uppercased().replacing("-", with: "_")
        let value = option[1] == "memory" ? "file:\(person.home)/cache" : option[1]
        let bridge = try Tool(["mcp", server.address], person.variables.merging([name: value]) { $1 })
        try bridge.type(#"{"id":1,"method":"x"}"#)
        let answer = try await bridge.answer(1)
        #expect(answer.object("error")?.string("message")?.contains("takes no") != true, "\(answer)")
    }

    /// A project's file names the address, and could name any profile or client of the person.
    @Test func noAddressGetsATokenThatIsForAnother() async throws {
        let (server, other) = (try MCPServer(), try MCPServer())
        let person = try await server.person()
        for arguments in [["--profile", "work"], ["--client-id", "test-client", "--issuer", person.setup.issuer], []] {
            let bridge = try Tool(["mcp", other.address] + arguments, person.variables)
            try? bridge.type(#"{"id":1,"method":"x"}"#)
            try? bridge.closeInput()
            let outcome = try await bridge.outcome()
            guard !arguments.isEmpty else {
                #expect(outcome.output.contains("identityctl login --resource \(other.address)"), "\(outcome)")
                continue
            }
            #expect(outcome.status == 64 && outcome.errors.contains("serves = ADDRESS"), "\(outcome)")
        }
        #expect(other.requests.isEmpty)
    }
}
