// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A program's request to be registered as a client.
///
/// - SeeAlso: [RFC 7591 §2](https://www.rfc-editor.org/rfc/rfc7591#section-2)
package struct ClientRegistrationMessage: Sendable {
    package var name: String
    package var softwareID: String
    package var softwareVersion: String?
    package var redirectURIs: [String]
    package var grantTypes: [String]
    /// The scopes that the client may ask for; empty for the server's choice.
    package var scopes: [String]

    package init(
        name: String,
        softwareID: String,
        softwareVersion: String?,
        redirectURIs: [String],
        grantTypes: [String],
        scopes: [String]
    ) {
        self.name = name
        self.softwareID = softwareID
        self.softwareVersion = softwareVersion
        self.redirectURIs = redirectURIs
        self.grantTypes = grantTypes
        self.scopes = scopes
    }

    /// The body.
    ///
    /// - Parameter isShort: Whether members that no server needs are left out, for one that refused the others.
    package func json(isShort: Bool) -> JSONObject {
        var json = JSONObject([
            ("client_name", .string(name)), ("redirect_uris", .strings(redirectURIs)),
            ("grant_types", .strings(grantTypes)), ("response_types", .strings(["code"])),
            ("token_endpoint_auth_method", .string("none")),
        ])
        guard !isShort else { return json }
        // Left out, it means a web application, which may not use loopback addresses (OpenID Connect Registration §2).
        json["application_type"] = .string("native")
        json["software_id"] = .string(softwareID)
        json["software_version"] = softwareVersion.map { .string($0) }
        if !scopes.isEmpty { json["scope"] = .string(scopes.joined(separator: " ")) }
        return json
    }
}
