// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import OAuthWire

/// The answers of a bridge by itself while no account is signed in and nothing of the server is known: a server with one tool, which
/// signs in.
struct MCPSignInTool: Sendable {
    static let name = "sign_in"
    /// The revisions with `initialize`, the newest first.
    private static let revisions = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
    /// JSON-RPC 2.0 §5.1
    private static let methodNotFound = -32601

    let server: String
    /// The command by which a person signs in.
    let command: String

    /// Returns the answer to a first message, or to the request for the tools; `nil` for another message.
    func answer(to message: MCPMessage, _ version: String?) -> MCPMessage? {
        switch message.method {
        case "initialize": return try? MCPMessage(MCPMessage.result(of: message.id, initialized(message)))
        case "tools/list":
            let list = JSONObject([("tools", .array([.object(tool)]))])
            let age: [(name: String, value: JSONValue)] = [("ttlMs", .integer(0)), ("cacheScope", .string("private"))]
            return try? MCPMessage(MCPMessage.result(of: message.id, marked(list, version, age)))
        case "server/discover":
            // Which revisions the server speaks is not known, and a host that speaks several goes on with 'initialize'.
            return try? MCPMessage(
                MCPMessage.failure(of: message.id, Self.methodNotFound, "\(need) \(way) Then start the server anew.")
            )
        default: return nil
        }
    }

    private var need: String { "A person has to sign in to \(server) first." }
    private var way: String { "To sign in from a terminal, run: \(command)" }

    private func initialized(_ message: MCPMessage) -> JSONObject {
        let asked = try? message.members.members("params")?.value("protocolVersion")?.string
        let version = Self.revisions.first { $0 == asked } ?? Self.revisions[0]
        return JSONObject([
            ("protocolVersion", .string(version)),
            ("capabilities", .object(JSONObject([("tools", .object(JSONObject([("listChanged", .bool(true))])))]))),
            (
                "serverInfo",
                .object(JSONObject([("name", .string("identityctl")), ("version", .string(LibraryVersion.current))]))
            ),
            (
                "instructions",
                .string("\(need) Call the tool '\(Self.name)', which opens a page in the browser. \(way)")
            ),
        ])
    }

    private var tool: JSONObject {
        JSONObject([
            ("name", .string(Self.name)), ("title", .string("Sign in")),
            (
                "description",
                .string(
                    """
                    Signs the person in to \(server). A page opens in the person's browser, which names the server and asks first. The \
                    call waits until the person has signed in, for 55 s at most; the sign-in goes on after that. Then the server's own \
                    tools take the place of this one.
                    """
                )
            ),
            ("inputSchema", .object(JSONObject([("type", .string("object")), ("properties", .object(JSONObject()))]))),
        ])
    }

    /// Whether a message calls the tool.
    static func isCalled(by message: MCPMessage) -> Bool {
        message.method == "tools/call" && (try? message.members.members("params")?.value("name")) == .string(name)
    }

    /// Returns the line that answers a call of the tool.
    ///
    /// - Parameter problem: Why no account is signed in, and what to do.
    func answer(toCall message: MCPMessage, _ version: String?, problem: String?) -> [UInt8] {
        let done =
            "Signed in. The tools of \(server) are there now. If this program does not show them, start the server anew: /mcp and "
            + "Reconnect in Claude Code, /new in Codex."
        let text = JSONObject([("type", .string("text")), ("text", .string(problem ?? done))])
        let result = JSONObject([("content", .array([.object(text)])), ("isError", .bool(problem != nil))])
        return MCPMessage.result(of: message.id, marked(result, version))
    }

    /// Returns a result with what each result has since revision 2026-07-28.
    private func marked(
        _ result: JSONObject,
        _ version: String?,
        _ more: [(name: String, value: JSONValue)] = []
    ) -> JSONObject {
        guard version != nil else { return result }
        return JSONObject(result.members + [("resultType", .string("complete"))] + more)
    }
}
