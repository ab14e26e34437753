// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient
import OAuthWire

/// The header fields by which revision 2026-07-28 shows a server what a request is about.
///
/// - SeeAlso: [Streamable HTTP](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports)
struct MCPFields: Sendable {
    static let versionMember = "io.modelcontextprotocol/protocolVersion"

    /// The most arguments of a tool that go into fields.
    private static let maximumParameters = 64

    /// A part of a tool's arguments that goes into a field as well.
    fileprivate struct Parameter: Sendable {
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
        let version = try message.members.members("params")?.members("_meta")?.value(versionMember)?.string
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
        let params = try message.members.members("params")
        let name: String? =
            switch message.method {
            case "tools/call", "prompts/get": try params?.value("name")?.string
            case "resources/read": try params?.value("uri")?.string
            default: nil
            }
        if let name { fields[.mcpName] = Self.value(name) }
        guard message.method == "tools/call", let name, let wanted = parameters[name],
            let arguments = try params?.value("arguments")
        else { return fields }
        for parameter in wanted {
            var node: JSONValue? = arguments
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
            text.utf8.arePrintable && text.utf8.first != 0x20 && text.utf8.last != 0x20
        let isMarked = text.hasPrefix("=?base64?") && text.hasSuffix("?=")
        return isPlain && !isMarked ? text : "=?base64?\(Data(text.utf8).base64EncodedString())?="
    }

    /// The arguments that a server's list of tools wants in fields.
    struct Listing {
        /// The answer for the host, without the tools that want what cannot be.
        fileprivate(set) var answer: MCPMessage
        /// The names of the tools that were left out.
        fileprivate(set) var left: [String] = []
        fileprivate var parameters: [String: [Parameter]] = [:]
    }

    /// Reads which arguments the listed tools want in fields.
    ///
    /// - Throws: `MCPMessage.Problem`.
    static func listing(_ answer: MCPMessage) throws(MCPMessage.Problem) -> Listing {
        var listing = Listing(answer: answer)
        guard let result = try answer.members.members("result"), let list = result.places["tools"],
            let tools = try result.elements("tools")
        else { return listing }
        var kept: [Range<Int>] = []
        for place in tools {
            var scan = JSONScan(answer.line, in: place)
            guard answer.line[place].first == UInt8(ascii: "{"),
                let name = try JSONMembers(&scan).value("name")?.string
            else { continue }
            let text = Array(answer.line[place])
            var found: [Parameter] = []
            if text.contains("x-mcp-header") {
                // One that cannot be read is left out as well.
                let tool = try? JSONObject(parsing: text, maximumDepth: 64)
                guard let tool, collect(tool["inputSchema"], path: [], into: &found) else {
                    listing.left.append(name)
                    continue
                }
            }
            listing.parameters[name] = found
            kept.append(place)
        }
        guard !listing.left.isEmpty else { return listing }
        let texts = kept.map { Array(answer.line[$0]) }.joined(separator: [UInt8(ascii: ",")])
        listing.answer = try answer.replacing(list, with: Array("[".utf8) + texts + Array("]".utf8))
        return listing
    }

    /// Notes what a list says. A tool that is no longer in it keeps what an earlier list said.
    mutating func note(_ listing: Listing) {
        for (name, found) in listing.parameters { parameters[name] = found.isEmpty ? nil : found }
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
                let field = HTTPField.Name("Mcp-Param-\(token)"), found.count < maximumParameters,
                !found.contains(where: { $0.field == field })
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
