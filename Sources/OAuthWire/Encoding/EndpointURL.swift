// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Adding parameters to an endpoint.
package enum EndpointURL {
    /// `endpoint` with `items` added to its query.
    ///
    /// The existing query stays byte for byte, as the specification requires: Azure AD B2C names its policy there, and
    /// decoding and encoding again turned `p=b2c_1%2Bx` into another policy.
    /// - Throws: `WireError.malformed` when the endpoint has a fragment.
    /// - SeeAlso: [RFC 6749 §3.1](https://www.rfc-editor.org/rfc/rfc6749#section-3.1)
    package static func appending(_ items: [(String, String)], to endpoint: String) throws -> String {
        let bytes = endpoint.utf8
        guard !bytes.contains(UInt8(ascii: "#")) else { throw WireError.malformed("endpoint: fragment") }
        guard !items.isEmpty else { return endpoint }
        let separator =
            switch (bytes.contains(UInt8(ascii: "?")), bytes.last) {
            case (false, _): "?"
            case (true, UInt8(ascii: "?")), (true, UInt8(ascii: "&")): ""
            default: "&"
            }
        return endpoint + separator + FormURLEncoded.encode(items)
    }
}
