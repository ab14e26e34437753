// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A server's answer to a registration.
///
/// - SeeAlso: [RFC 7591 §3.2.1](https://www.rfc-editor.org/rfc/rfc7591#section-3.2.1)
package struct ClientRegistrationResponse: Hashable, Sendable {
    /// Visible ASCII, at most 4,096 bytes: a server without a database gives what it registered, signed.
    package var clientID: String
    /// `nil` for a client without a secret. Visible ASCII, at most 1,024 bytes.
    package var clientSecret: String?
    /// When the secret ends, in Unix seconds; `nil` if it does not.
    package var secretExpiresOn: Int64?
    /// How the client shows itself at the token endpoint, if the answer says so.
    package var authMethod: String?
    /// The registered addresses; `nil` if the answer has none, which means those of the request.
    package var redirectURIs: [String]?

    /// Reads the answer.
    ///
    /// - Throws: `WireError` if a used member is missing, or has a wrong type or value.
    package init(_ json: JSONObject) throws(WireError) {
        clientID = try Self.checked(json.requiredString("client_id"), "client_id", atMost: 4096)
        clientSecret = try json.optionalString("client_secret")
        if let clientSecret { _ = try Self.checked(clientSecret, "client_secret", atMost: 1024) }
        // Zero means never. Some servers send nothing.
        let isSilent = json["client_secret_expires_at"].map(\.isNull) ?? true
        let end = isSilent ? 0 : json.roundedDown("client_secret_expires_at") ?? -1
        guard UnixSeconds.all.contains(end) else { throw WireError.wrongType("client_secret_expires_at") }
        secretExpiresOn = clientSecret == nil || end == 0 ? nil : end
        authMethod = try json.optionalString("token_endpoint_auth_method")
        redirectURIs = try json.optionalStrings("redirect_uris")
    }

    private static func checked(_ text: String, _ name: String, atMost limit: Int) throws(WireError) -> String {
        guard text.utf8.count <= limit, text.utf8.areVisible else { throw WireError.malformed(name) }
        return text
    }

    /// The answer as JSON, for a record. The token for changing the registration is not in it: nothing uses it.
    package var json: JSONObject {
        var json = JSONObject([("client_id", .string(clientID))])
        json["client_secret"] = clientSecret.map { .string($0) }
        json["client_secret_expires_at"] = secretExpiresOn.map { .integer($0) }
        json["token_endpoint_auth_method"] = authMethod.map { .string($0) }
        json["redirect_uris"] = redirectURIs.map { .strings($0) }
        return json
    }
}
