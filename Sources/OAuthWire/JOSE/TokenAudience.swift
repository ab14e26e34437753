// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The audience of an access token that is a JWT (RFC 9068 §3). Many servers ignore the resource of a request, and issue a token for
/// the API that they know.
package enum TokenAudience {
    /// Returns the addresses that a token is for, if `resource` is none of them and below none.
    ///
    /// - Returns: `nil` if the token may be sent to `resource`, which includes a token that cannot be read, or that names no
    ///   address.
    package static func others(in accessToken: String, than resource: String) -> [String]? {
        guard let text = JSONWebToken.claimsText(ofCompact: accessToken),
            let claims = try? JSONObject(parsing: Array(text.utf8)), let place = WebAddress(resource)
        else { return nil }  // an opaque token
        let named = claims.string("aud").map { [$0] } ?? (claims.array("aud") ?? []).compactMap(\.string)
        let addresses = named.filter { name in
            ["https://", "http://"].contains { name.lowercased().utf8.starts(with: $0.utf8) }
        }
        guard !addresses.isEmpty, !addresses.contains(where: { WebAddress($0)?.isAbove(place) == true }) else {
            return nil
        }
        return addresses
    }
}
