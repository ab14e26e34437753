// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A protected resource's description of itself. Signed metadata is ignored.
///
/// The types of used members are checked here; a caller that knows the address compares `resource`.
/// - SeeAlso: [RFC 9728 §2](https://www.rfc-editor.org/rfc/rfc9728#section-2)
package struct ResourceMetadata: Sendable {
    /// The identifier of the resource, as the server spells it.
    package let resource: String
    /// The issuers of the servers that issue tokens for it, in the document's order; at least one, and at most 16.
    package let authorizationServers: [String]
    /// `scopes_supported`; `nil` if it is absent.
    package let scopes: [String]?
    /// Whether a token may be sent in `Authorization`.
    package let takesHeader: Bool
    /// Whether only tokens that are bound to a key are accepted (RFC 9449).
    package let requiresDPoP: Bool
    /// `resource_name`; untrusted.
    package let name: String?

    private static let maximumServers = 16

    /// Reads the document.
    /// - Throws: `WireError` if a required member is missing, or a used member has a wrong type.
    package init(_ json: JSONObject) throws(WireError) {
        resource = try json.requiredString("resource")
        let servers = try json.optionalStrings("authorization_servers") ?? []
        guard !servers.isEmpty else { throw WireError.missing("authorization_servers") }
        guard servers.count <= Self.maximumServers, !servers.contains("") else {
            throw WireError.malformed("authorization_servers")
        }
        var seen: Set<[UInt8]> = []
        authorizationServers = servers.filter { seen.insert(Array($0.utf8)).inserted }
        scopes = try json.optionalStrings("scopes_supported")
        takesHeader = try json.optionalStrings("bearer_methods_supported")?.contains("header") ?? true
        requiresDPoP = try json.optionalBool("dpop_bound_access_tokens_required") ?? false
        name = try json.optionalString("resource_name")
    }
}
