// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The reference to a pushed authorization request.
/// - SeeAlso: [RFC 9126 §2.2](https://www.rfc-editor.org/rfc/rfc9126#section-2.2)
package struct PushedAuthorizationResponse: Sendable {
    /// The value that the browser brings instead of the request: visible ASCII, at most 2,048 bytes.
    package var requestURI: String
    /// In seconds, at least 1.
    package var expiresIn: Int

    /// Reads the answer.
    /// - Throws: `WireError` if a field is missing, has a wrong type or value, or cannot be part of an address.
    package init(_ json: JSONObject) throws(WireError) {
        requestURI = try json.requiredString("request_uri")
        guard requestURI.utf8.count <= 2048, requestURI.utf8.areVisible else {
            throw WireError.malformed("request_uri")
        }
        guard let seconds = try json.optionalDuration("expires_in") else { throw WireError.missing("expires_in") }
        guard seconds > 0 else { throw WireError.wrongType("expires_in") }
        expiresIn = seconds
    }
}
