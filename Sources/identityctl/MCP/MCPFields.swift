// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient
import OAuthWire

/// The header fields by which revision 2026-07-28 shows a server what a request is about.
///
/// - SeeAlso: [Streamable HTTP](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports)
struct MCPFields: Sendable {
    private static let versionMember = "io.modelcontextprotocol/protocolVersion"

    /// A part of a tool's arguments that goes into a field as well.
    private struct Parameter: Sendable {
        let path: [String]
        let field: HTTPField.Name
    }

    /// By the tool's name, as the server listed it last.
    private var parameters: [String: [Parameter]] = [:]

    /// Returns the revision that a message names in itself; `nil` for one of an older revision.
    ///
    /// - Throws: `MCPMessage.Problem` for parameters that cannot be read.
    static func version(of message: MCPMessage) throws(MCPMessage.Problem) -> String? {
        // Most messages of older revisions need no parsing.
        guard message.method != nil, message.line.contains(versionMember) else { return nil }
        let version = try message.object("params")?.object("_meta")?.string(versionMember)
        guard version.map(isUsable) != false else { throw MCPMessage.Problem("The protocol's version is no version.") }
        return version
    }

    /// Whether a text can be a version or a session's identifier in a field.
    static func isUsable(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 1024 && text.utf8.areVisible
    }

    /// - Throws: `MCPMessage.Problem` for parameters that cannot be read.
    func fields(for message: MCPMessage, version: String) throws(MCPMessage.Problem) -> HTTPFields {
        var fields: HTTPFields = [.protocolVersion: version, .mcpMethod: Self.value(message.method ?? "")]
        let params = try message.object("params")
        let name: String? =
            switch message.method {
            case "tools/call", "prompts/get": params?.string("name")
            case "resources/read": params?.string("uri")
            default: nil
            }
        if let name { fields[.mcpName] = Self.value(name) }
        guard message.method == "tools/call", let name, let arguments = params?.object("arguments") else {
            return fields
        }
        for parameter in parameters[name] ?? [] {
            var node: JSONValue? = .object(arguments)
            for step in parameter.path {
                if case .object(let object)? = node { node = object[step] } else { node = nil }
            }
            switch node {
            case .string(let text): fields[parameter.field] = Self.value(text)
            case .number(let text): fields[parameter.field] = Self.value(text)
            case .bool(let flag): fields[parameter.field] = flag ? "true" : "false"
            default: break
            }
        }
        return fields
    }

    /// Returns a text as a field can hold it: as it is, or else in Base64 between marks.
    static func value(_ text: String) -> String {
        let isPlain =
            text.utf8.allSatisfy { (0x20...0x7E).contains($0) } && text.utf8.first != 0x20 && text.utf8.last != 0x20
        let isMarked = text.hasPrefix("=?base64?") && text.hasSuffix("?=")
        return isPlain && !isMarked ? text : "=?base64?\(Data(text.utf8).base64EncodedString())?="
    }

    /// Notes which arguments the listed tools want in fields, and leaves out the tools that want what cannot be.
    ///
    /// - Returns: The answer for the host, and the names of the tools that were left out.
    /// - Throws: `MCPMessage.Problem`.
    mutating func note(toolsIn answer: MCPMessage) throws(MCPMessage.Problem) -> (MCPMessage, [String]) {
        guard answer.line.contains("x-mcp-header"), var result = try answer.object("result"),
            let tools = result.array("tools")
        else { return (answer, []) }
        var (kept, left): ([JSONValue], [String]) = ([], [])
        for tool in tools {
            guard case .object(let object) = tool, let name = object.string("name") else { continue }
            var found: [Parameter] = []
            if Self.collect(object["inputSchema"], path: [], into: &found) {
                parameters[name] = found
                kept.append(tool)
            } else {
                left.append(name)
            }
        }
        guard !left.isEmpty else { return (answer, []) }
        result["tools"] = .array(kept)
        return (try answer.replacing("result", with: result), left)
    }

    /// Collects the annotations of a schema.
    ///
    /// - Parameter path: The names of properties that lead to the schema; `nil` if it is reached by anything else, and there may
    ///   be no annotation.
    /// - Returns: Whether all of them are possible.
    private static func collect(_ schema: JSONValue?, path: [String]?, into found: inout [Parameter]) -> Bool {
        guard case .object(let schema)? = schema else { return true }
        if let annotation = schema["x-mcp-header"] {
            guard let path, !path.isEmpty, let token = annotation.string, !token.isEmpty,
                ["string", "integer", "boolean"].contains(schema.string("type")),
                let field = HTTPField.Name("Mcp-Param-\(token)"), !found.contains(where: { $0.field == field })
            else { return false }
            found.append(Parameter(path: path, field: field))
        }
        for (name, value) in schema.members {
            switch (name, value) {
            case ("properties", .object(let properties)):
                for (name, value) in properties.members {
                    guard collect(value, path: path.map { $0 + [name] }, into: &found) else { return false }
                }
            case ("patternProperties", .object(let schemas)), ("dependentSchemas", .object(let schemas)),
                ("$defs", .object(let schemas)), ("definitions", .object(let schemas)):
                for (_, value) in schemas.members where !collect(value, path: nil, into: &found) { return false }
            case ("default", _), ("const", _), ("enum", _), ("examples", _): break  // data, and no schemas
            case (_, .array(let schemas)):
                for value in schemas where !collect(value, path: nil, into: &found) { return false }
            default:
                guard collect(value, path: nil, into: &found) else { return false }
            }
        }
        return true
    }
}

extension HTTPField.Name {
    static let mcpSessionID = constant("Mcp-Session-Id")
    static let protocolVersion = constant("MCP-Protocol-Version")
    static let lastEventID = constant("Last-Event-ID")
    fileprivate static let mcpMethod = constant("Mcp-Method")
    fileprivate static let mcpName = constant("Mcp-Name")
}
