// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import LoopbackHTTP
import OAuthWire
import Synchronization
import Testing

/// An MCP server over HTTP that answers as a test wants, and a person whose profile serves it.
final class MCPServer: Sendable {
    /// Answers a request: its message, and how many with that method came before it.
    typealias Answer = @Sendable (LoopbackRequest, JSONObject, Int) async -> LoopbackResponse?

    private let server: LoopbackServer
    private let seen: Seen
    /// The homes of people, which are there as long as the server.
    private let homes = Mutex<[ToolSetup]>([])

    /// The requests so far.
    private final class Seen: Sendable {
        let requests = Mutex<[LoopbackRequest]>([])
    }

    var address: String { "http://127.0.0.1:\(server.port)/mcp" }
    var requests: [LoopbackRequest] { seen.requests.withLock(\.self) }

    func requests(_ method: String) -> [LoopbackRequest] { requests.filter { Self.name($0) == method } }

    /// The method of a request's message, or else that of the request.
    private static func name(_ request: LoopbackRequest) -> String {
        message(request).string("method") ?? request.method
    }

    private static func message(_ request: LoopbackRequest) -> JSONObject {
        (try? JSONObject(parsing: request.body, maximumDepth: 64)) ?? JSONObject()  // DELETE has none
    }

    /// - Parameter answer: Returns `nil` for the usual answer.
    init(_ answer: @escaping Answer = { _, _, _ in nil }) throws {
        let seen = Seen()
        self.seen = seen
        var limits = LoopbackServer.Limits()
        limits.maximumBodyLength = 16 << 20
        limits.maximumConnections = 320
        server = try LoopbackServer.start(limits: limits) { request in
            let name = Self.name(request)
            let before = seen.requests.withLock { requests in
                defer { requests.append(request) }
                return requests.count { Self.name($0) == name }
            }
            return await answer(request, Self.message(request), before) ?? Self.usual(request)
        }
    }

    deinit {
        server.close()
    }

    /// The answer of a server without any features.
    static func usual(_ request: LoopbackRequest) -> LoopbackResponse {
        guard request.method == "POST" else { return LoopbackResponse(status: request.method == "DELETE" ? 200 : 405) }
        let message = message(request)
        guard let id = message["id"] else { return LoopbackResponse(status: 202) }
        guard message.string("method") == "initialize" else { return json(id, #"{"done":true}"#) }
        let version = message.object("params")?.string("protocolVersion") ?? ""
        var answer = json(id, #"{"protocolVersion":"\#(version)","capabilities":{}}"#)
        answer.headers.append("Mcp-Session-Id", "session-1")
        return answer
    }

    static func line(_ id: JSONValue?, _ result: String) -> String {
        #"{"jsonrpc":"2.0","id":\#(id?.jsonText ?? "null"),"result":\#(result)}"#
    }

    static func json(_ id: JSONValue?, _ result: String) -> LoopbackResponse {
        LoopbackResponse(status: 200, text: line(id, result), type: "application/json")
    }

    static func events(_ pieces: String..., before gate: (@Sendable () async throws -> Void)? = nil) -> LoopbackResponse
    {
        LoopbackResponse(
            status: 200,
            headers: ["Content-Type": "text/event-stream"],
            body: .stream { writer in
                for piece in pieces { try await writer.write(Array(piece.utf8)) }
                try await gate?()
            }
        )
    }

    static let initialize = #"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#
    static let initialized = #"{"jsonrpc":"2.0","method":"notifications/initialized"}"#

    /// Returns a person who is signed in, and whose profile serves this server. No bridge finds a browser.
    func person() async throws -> Person {
        var person = try await Person(serves: address)
        _ = try await person.login()
        person.variables["IDENTITYCTL_BROWSER"] = nil
        homes.withLock { $0.append(person.setup) }
        return person
    }

    /// Starts a bridge of a person.
    func bridge(_ person: Person, _ arguments: String...) throws -> Tool {
        try Tool(["mcp", address] + arguments, person.variables)
    }
}

extension Tool {
    /// The messages on standard output so far.
    var messages: [JSONObject] {
        get throws {
            try text.split(separator: "\n").map { try JSONObject(parsing: Array($0.utf8), maximumDepth: 64) }
        }
    }

    /// Returns the answer with an id.
    func answer(_ id: Int) async throws -> JSONObject {
        try await answer(.integer(id))
    }

    func answer(_ id: JSONValue) async throws -> JSONObject {
        try await poll("the answer \(id); so far: \(text)") {
            try? messages.first { $0["id"] == id && $0["method"] == nil }
        }
    }
}
