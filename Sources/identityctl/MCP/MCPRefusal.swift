// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityClient
import IdentityResources
import OAuthWire
import SystemSupport

/// A server's answer with another status than 200 to 299, in the server's words.
struct MCPRefusal: Error, Hashable {
    private static let maximumBytes = 64 << 10
    private static let maximumWords = 300
    /// The longest time that a body may take.
    private static let time = Duration.seconds(5)

    let status: Int
    /// The error in its body, if that is one of JSON-RPC.
    private(set) var error: JSONObject?
    /// The other words of the body, on one line.
    private(set) var words: String?
    /// The wait that the server asks for, in seconds.
    private(set) var wait: Int64?
    /// A sentence about the usual reason.
    private var hint = ""

    /// Reads the beginning of the body. One that is not read to its end says nothing.
    init(_ response: HTTPResponse, _ body: ResponseBody, now: Int64) async {
        let text = try? await withDeadline(Self.time) {
            var text: [UInt8] = []
            for try await piece in body {
                text += piece
                guard text.count <= Self.maximumBytes else { return [UInt8]() }
            }
            return text
        }
        self.init(response, text ?? [], now: now)
    }

    init(_ response: HTTPResponse, _ text: [UInt8], now: Int64) {
        status = response.status.code
        wait = response.retryAfter(now: now)?.components.seconds
        var said: String?
        let text = text.withoutMark
        if let object = try? JSONObject(parsing: text, maximumDepth: 64) {
            if let object = object.object("error"), object.integer("code") != nil, object.string("message") != nil {
                error = object
            }
            said = ErrorResponse.foreignWords(object) ?? object.string("title") ?? object.string("error")
        } else if ["", "text/plain"].contains(response.mediaType) {
            said = String(validating: text, as: UTF8.self)
            // A page, and JSON that is cut off, say nothing.
            if said?.first(where: { !$0.isWhitespace }).map("<{[".contains) == true { said = nil }
        }
        said = said.map { String(WireText.clean($0).prefix(Self.maximumWords)) }
        words = said?.isEmpty == false ? said : nil
    }

    /// Whether the server may have forgotten the session, which it says by 404.
    ///
    /// Deviation: old versions of the official SDKs and Atlassian's server say it by 400, in words, others by 410, and mcp-proxy
    /// by 401, whatever the token is.
    var mayBeOfSession: Bool {
        let said = (error?.string("message") ?? words ?? "").lowercased()
        return switch status {
        case 401, 404, 410: true
        case 400: ["session", "not initialized"].contains { said.contains($0) }
        default: false
        }
    }

    /// Returns the refusal of a first message, with the usual reason for it.
    ///
    /// - SeeAlso: [Backwards compatibility](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#backwards-compatibility)
    var ofFirstMessage: MCPRefusal {
        guard [404, 405].contains(status) else { return self }
        var refusal = self
        refusal.error = nil
        refusal.hint = """
             A server of the older transport (HTTP with SSE, 2024-11-05) answers so, and identityctl does not speak it. The \
            address of the newer one often ends in /mcp.
            """
        return refusal
    }

    /// The status and the wait, for a program.
    var numbers: JSONObject {
        var numbers = JSONObject([("status", .integer(status))])
        numbers["retryAfter"] = wait.map { .integer(Int($0)) }
        return numbers
    }
}

extension MCPRefusal: CustomStringConvertible {
    var description: String {
        let said = words.map { ": \($0)" } ?? ""
        let end = said.last.map(".!?".contains) == true ? "" : "."
        return "The server answered with status \(status)\(said)\(end)" + (wait.map { " Try again in \($0) s." } ?? "")
            + hint
    }
}
