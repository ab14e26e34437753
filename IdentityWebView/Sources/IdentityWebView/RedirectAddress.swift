// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

#if WebView
import FoundationEssentials

/// The registered redirect URI, for comparison with the addresses that pages request.
///
/// The scheme, host, port and path must be equal; nothing is guessed. WebKit normalizes the addresses it passes on
/// (lower-case scheme and web host, no default port, a slash as the empty web path), so these spellings count as equal.
/// - SeeAlso: [RFC 9700 §2.1](https://www.rfc-editor.org/rfc/rfc9700#section-2.1)
struct RedirectAddress: Hashable, Sendable {
    private let address: Parts

    init?(_ redirectURI: String) {
        guard let parts = Parts(redirectURI) else { return nil }
        address = parts
    }

    /// Returns whether `address` is the redirect URI, with any additions to its query.
    func matches(_ address: String) -> Bool {
        guard let other = Parts(address) else { return false }
        guard other.scheme == self.address.scheme, other.authority == self.address.authority,
            other.path == self.address.path
        else { return false }
        guard let own = self.address.query else { return true }
        return other.query == own || other.query?.hasPrefix(own + "&") == true
    }
}

extension RedirectAddress {
    /// An address, split into the parts that are compared (RFC 3986 §3).
    private struct Parts: Hashable {
        var scheme: String
        /// The host and port, including the user, so that an address with a user never equals an address without a
        /// user; `nil` if the address has no host, like `urn:ietf:wg:oauth:2.0:oob`.
        var authority: String?
        var path: String
        var query: String?

        init?(_ address: String) {
            guard let colon = address.firstIndex(of: ":"), colon != address.startIndex else { return nil }
            scheme = address[..<colon].lowercased()
            var rest = address[address.index(after: colon)...].prefix { $0 != "#" }
            if let mark = rest.firstIndex(of: "?") {
                query = String(rest[rest.index(after: mark)...])
                rest = rest[..<mark]
            }
            let isWeb = scheme == "http" || scheme == "https"
            if rest.hasPrefix("//") {
                let text = rest.dropFirst(2).prefix { $0 != "/" }
                rest = rest.dropFirst(2 + text.count)
                authority = isWeb ? Self.webAuthority(text.lowercased(), scheme) : String(text)
            }
            path = isWeb && rest.isEmpty ? "/" : String(rest)
        }

        private static func webAuthority(_ text: String, _ scheme: String) -> String {
            let port = scheme == "http" ? ":80" : ":443"
            return text.hasSuffix(port) ? String(text.dropLast(port.count)) : text
        }
    }
}
#endif
