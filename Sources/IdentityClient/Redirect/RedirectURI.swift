// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import OAuthWire

/// The address to which the provider redirects the browser: on the loopback interface, or handled by the program.
///
/// Most providers compare it exactly, so the program chooses the host, the port and a trailing slash.
///
/// ```swift
/// configuration.redirectURI = try .loopback(host: .localhost, ports: 8400...8410)
/// ```
/// - SeeAlso: [RFC 8252 §7.3](https://www.rfc-editor.org/rfc/rfc8252#section-7.3)
public struct RedirectURI: Hashable, Sendable {
    /// The spelling of the loopback host in the address.
    ///
    /// ```swift
    /// configuration.redirectURI = try .loopback(host: .ipv4, ports: 8400...8400)
    /// ```
    @nonexhaustive public enum LoopbackHost: String, Hashable, Sendable, CaseIterable {
        /// `localhost`, with listeners on both loopback families. Entra ID, B2C and AD FS expect it.
        case localhost
        /// `127.0.0.1`, which RFC 8252 prefers.
        case ipv4 = "127.0.0.1"
        /// `[::1]`
        case ipv6 = "[::1]"
    }

    package enum Kind: Hashable, Sendable {
        /// A `nil` host means the authority's usual spelling.
        case loopback(host: LoopbackHost?, ports: ClosedRange<UInt16>?, path: String)
        case custom(URL)
    }

    package let kind: Kind

    init(kind: Kind) {
        self.kind = kind
    }

    /// The loopback interface, any free port, no path; the host in the authority's usual spelling (`localhost` for
    /// Microsoft's, `127.0.0.1` for others).
    public static let loopback = RedirectURI(kind: .loopback(host: nil, ports: nil, path: ""))

    /// The loopback interface.
    ///
    /// - Parameters:
    ///   - host: The spelling of the host, or `nil` for the authority's usual spelling.
    ///   - ports: The range of ports, of which the first free one is used; `nil` means any free port.
    ///   - path: Empty, or a path that begins with one slash.
    /// - Throws: `AuthenticationError.Code.invalidArgument` if the path does not begin with one slash, has other than
    ///   visible ASCII characters or one of `"<>\^{|}` and the backtick, a query or a fragment, or if `ports`
    ///   includes 0.
    public static func loopback(
        host: LoopbackHost? = nil,
        ports: ClosedRange<UInt16>? = nil,
        path: String = ""
    ) throws -> RedirectURI {
        // Two slashes would begin another host in the browser's redirect.
        guard path.isEmpty || path.hasPrefix("/") && !path.hasPrefix("//"),
            path.utf8.allSatisfy({ $0.isVisible && !#"?#"<>\^`{|}"#.utf8.contains($0) }),
            ports?.lowerBound != 0
        else {
            throw AuthenticationError(
                .invalidArgument,
                "A loopback redirect URI has a path of visible ASCII characters with one slash at its beginning and without query, and ports from 1 on."
            )
        }
        return RedirectURI(kind: .loopback(host: host, ports: ports, path: path))
    }

    /// An address with the program's own scheme, such as `msauth.com.example.app://auth`, for a
    /// ``CustomSchemeRedirectReceiver`` or for a sign-in in two steps, in which the program shows the page itself and
    /// passes the final address back.
    ///
    /// - Throws: `AuthenticationError` of the family `.configuration` if the address is relative or has a fragment.
    public static func custom(_ url: URL) throws -> RedirectURI {
        guard url.scheme?.isEmpty == false, url.fragment == nil else {
            throw AuthenticationError(
                .invalidArgument,
                "A redirect URI is absolute and has no fragment (RFC 6749 §3.1.2)."
            )
        }
        return RedirectURI(kind: .custom(url))
    }

    /// The address for a receiver without a port, such as a web view, which sees the redirect itself.
    ///
    /// A loopback address without a port gets an unused port, a different port each time.
    /// - Throws: `AuthenticationError(.redirectUnavailable, …)` if the path makes the address invalid.
    public func addressWithoutListener() throws -> URL {
        switch kind {
        case .custom(let url): return url
        case .loopback(let host, let ports, let path):
            let port = ports?.lowerBound ?? UInt16.random(in: 49152...65535)
            let text = "http://\((host ?? .localhost).rawValue):\(port)\(path)"
            guard let url = URL(string: text), url.absoluteString == text else {
                throw AuthenticationError(.redirectUnavailable, "\(text) is not a valid address.")
            }
            return url
        }
    }
}

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
