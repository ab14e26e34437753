// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// A browser's final address, in its parts.
package struct RedirectAddress {
    /// The part before the query.
    let base: String
    /// The parameters of the query; empty if it cannot be read.
    let items: [(String, String)]

    package init(_ redirect: String) {
        let address = redirect.prefix { $0 != "#" }
        base = Self.normalized(address.prefix { $0 != "?" })
        let query = address.drop { $0 != "?" }.dropFirst()
        // Too long: no answer.
        items = (try? FormURLEncoded.decodeAnswer(String(query), strict: AuthorizationResponse.strictParameters)) ?? []
    }

    /// The values of `state`.
    package var states: [String] { items.filter { $0.0 == "state" }.map(\.1) }

    /// Whether the address is `redirectURI`, apart from an answer's parameters in the query.
    func matches(_ redirectURI: String) -> Bool {
        base == Self.normalized(redirectURI.prefix { $0 != "?" && $0 != "#" })
    }

    /// The scheme ignores case; a web address's host does too, and its empty path is the root.
    ///
    /// - SeeAlso: [RFC 3986 §6.2.2.1](https://www.rfc-editor.org/rfc/rfc3986#section-6.2.2.1)
    private static func normalized(_ address: Substring) -> String {
        guard let colon = address.firstIndex(of: ":") else { return String(address) }
        let scheme = address[..<colon].lowercased()
        let rest = address[colon...]
        guard scheme == "http" || scheme == "https", rest.hasPrefix("://") else { return scheme + rest }
        let authority = rest.dropFirst(3).prefix { $0 != "/" }
        let path = rest.dropFirst(3 + authority.count)
        return scheme + "://" + authority.lowercased() + (path.isEmpty ? "/" : path)
    }
}
