// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc

/// An absolute `https` address, or `http` on a loopback host, parsed strictly.
///
/// The parser guesses and repairs nothing: no user information, no fragment, only ASCII. Scheme and host become lower
/// case, a default port is dropped, path and query stay unchanged.
/// - SeeAlso: [RFC 3986 §3](https://www.rfc-editor.org/rfc/rfc3986#section-3)
package struct WebAddress: Hashable, Sendable {
    package let scheme: String
    package let host: String
    package let port: UInt16?
    package let path: String
    package let query: String?

    package init(scheme: String = "https", host: String, port: UInt16? = nil, path: String = "/", query: String? = nil)
    {
        self.scheme = scheme
        self.host = host
        self.port = port
        self.path = path
        self.query = query
    }

    /// - Returns: `nil` unless `text` has exactly this form and an allowed host.
    package init?(_ text: String) {
        self.init(text, maximumLength: Self.maximumLength)
    }

    /// Whether `text` is such an address for a person's browser, where a fragment may follow, because single-page
    /// applications use fragments. The fragment is not sent to the host, and must be ASCII too.
    package static func isForPeople(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: 0x23, omittingEmptySubsequences: false)
        return text.utf8.count <= maximumLength && text.utf8.allSatisfy(isPlain) && parts.count <= 2
            && parts.first.flatMap { WebAddress(String(Substring($0))) } != nil
    }

    private static let maximumLength = 2048

    /// Visible ASCII, without the backslash, which some browsers treat as a slash.
    private static func isPlain(_ byte: UInt8) -> Bool { byte.isVisible && byte != 0x5C }

    /// The same for at most `maximumLength` bytes.
    package init?(_ text: String, maximumLength: Int) {
        guard text.utf8.count <= maximumLength, text.utf8.allSatisfy({ Self.isPlain($0) && $0 != 0x23 }),
            let schemeEnd = text.utf8.firstIndex(of: UInt8(ascii: ":")),
            text[schemeEnd...].hasPrefix("://")
        else { return nil }
        let scheme = text[..<schemeEnd].lowercased()
        let rest = text[text.index(schemeEnd, offsetBy: 3)...]
        let authorityEnd =
            rest.utf8.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
        guard let (host, port) = Self.hostAndPort(rest[..<authorityEnd]) else { return nil }
        let tail = rest[authorityEnd...]
        let queryStart = tail.utf8.firstIndex(of: UInt8(ascii: "?"))

        self.scheme = scheme
        self.host = host
        self.port = port == (scheme == "https" ? 443 : 80) ? nil : port
        path = String(tail[..<(queryStart ?? tail.endIndex)])
        query = queryStart.map { String(tail[tail.index(after: $0)...]) }
        guard scheme == "https" || (scheme == "http" && isLoopback) else { return nil }
    }

    /// Scheme, host and port, as in `https://login.example.org:8443`.
    package var origin: String { "\(scheme)://\(environment)" }

    /// Host and port, MSAL's environment.
    package var environment: String { port.map { "\(host):\($0)" } ?? host }

    package var text: String { origin + path + (query.map { "?" + $0 } ?? "") }

    /// The address for a log.
    package var withoutQuery: String { origin + path }

    /// Path and query for a request; `/` for an empty path.
    ///
    /// - SeeAlso: [RFC 9112 §3.2.1](https://www.rfc-editor.org/rfc/rfc9112#section-3.2.1)
    package var target: String { (path.isEmpty ? "/" : path) + (query.map { "?" + $0 } ?? "") }

    package var isLoopback: Bool { Self.isLoopback(host: host) }

    /// Whether another address has the same origin, and this one's path or one below it, by whole segments.
    package func isAbove(_ other: WebAddress) -> Bool {
        guard origin == other.origin else { return false }
        if let query {
            return path.utf8.elementsEqual(other.path.utf8) && query.utf8.elementsEqual((other.query ?? "").utf8)
        }
        let above = path.hasSuffix("/") ? String(path.dropLast()) : path
        if above.isEmpty { return true }
        return !PercentEncoding.isDoubtfulPath(other.path)
            && (other.path.utf8.elementsEqual(above.utf8) || other.path.utf8.starts(with: "\(above)/".utf8))
    }

    /// The nonempty segments of the path.
    package var segments: [String] { path.split(separator: "/").map(String.init) }

    /// Whether the host, in lower case, is this computer by its name alone: `localhost`, `127.0.0.0/8` or `[::1]`.
    ///
    /// Only four plain decimal numbers are such an address, because programs read `127.1` and octal forms differently.
    package static func isLoopback(host: String) -> Bool {
        if host == "localhost" || host == "[::1]" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127"
            && parts.allSatisfy { part in UInt8(part).map { String($0) == part } ?? false }
    }

    /// Whether the host may be this computer in any spelling that some resolver takes for it: also `127.1`, `0x7f.1`, `0.0.0.0`,
    /// `[::ffff:127.0.0.1]` and `a.localhost`. An address that a document from elsewhere names may not be; a name whose owner
    /// lets it resolve to this computer cannot be told.
    package var mayBeLoopback: Bool {
        if isLoopback || host.contains("localhost") || host.hasPrefix("ip6-loopback") { return true }
        if host.hasPrefix("[") {
            // No address that is assigned to an interface but the loopback's begins with zeros.
            let literal = String(host.dropFirst().dropLast())
            return literal.hasPrefix("::") || !Self.isCanonicalIPv6(literal)
        }
        // Resolvers read a host as IPv4, decimal, octal or hexadecimal, if its last label is a number.
        let labels = host.split(separator: ".")
        guard let last = labels.last, last.first?.isNumber == true,
            last.hasPrefix("0x") || last.utf8.areDigits
        else { return false }
        return labels.count != 4 || ["0", "127"].contains(labels[0])
            || !labels.allSatisfy { label in UInt8(label).map { String($0) == label } ?? false }
    }

    private static func isCanonicalIPv6(_ literal: String) -> Bool {
        var address = in6_addr()
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard unsafe inet_pton(AF_INET6, literal, &address) == 1,
            unsafe inet_ntop(AF_INET6, &address, &text, socklen_t(text.count)) != nil
        else { return false }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self) == literal
    }

    /// The host, in lower case and with the brackets of an IPv6 address, and the port.
    ///
    /// The grammar is narrower than RFC 3986's, so that no other parser can read a different host: no user information,
    /// no percent signs and only ASCII letters.
    package static func hostAndPort(_ authority: Substring) -> (String, UInt16?)? {
        var host = authority
        var port: UInt16?
        if let colon = authority.utf8.lastIndex(of: UInt8(ascii: ":")),
            !authority[colon...].utf8.contains(UInt8(ascii: "]"))
        {
            let digits = authority[authority.index(after: colon)...]
            guard let number = UInt16(digits), number > 0, digits.utf8.first != UInt8(ascii: "+") else { return nil }
            host = authority[..<colon]
            port = number
        }
        let isName = host.utf8.areAlphanumeric(or: ".-_")
        let dot = UInt8(ascii: ".")
        let hasLabels =
            host.utf8.first != dot && !zip(host.utf8, host.utf8.dropFirst()).contains { $0 == dot && $1 == dot }
        guard !host.isEmpty, host.utf8.count <= 253, isName && hasLabels || isIPv6Literal(host) else { return nil }
        return (host.lowercased(), port)
    }

    private static func isIPv6Literal(_ host: Substring) -> Bool {
        host.hasPrefix("[") && host.hasSuffix("]") && host.utf8.contains(UInt8(ascii: ":"))
            && host.dropFirst().dropLast().utf8.allSatisfy { $0.isHexadecimal || ":.".utf8.contains($0) }
    }
}
