// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// The target of a request, checked before libcurl sees it.
///
/// The grammar is narrower than RFC 3986's, so that no other parser can read a different host: no user information, no
/// percent signs and only ASCII letters in the host, no fragment.
struct RequestTarget: Hashable, Sendable {
    let url: String
    /// The host in lower case, without brackets; safe to show.
    let host: String
    /// The host as the address has it, with its port if it names one; safe to show.
    let place: String
    /// Whether the host is this computer by its name alone: `localhost`, `127.0.0.0/8` or `[::1]`.
    let isLoopback: Bool

    init(_ request: HTTPRequest) throws {
        guard let scheme = request.scheme?.lowercased(), let authority = request.authority else {
            throw Self.refusal("The request has no scheme or no host: give it an absolute https address.")
        }
        guard let (host, isBracketed) = Self.host(of: authority) else {
            throw Self.refusal(
                "The request's host is not acceptable: a host name, an IPv4 address or an IPv6 address in brackets, "
                    + "and a port where one is needed. Names with other letters than ASCII go in their xn-- form."
            )
        }
        self.host = host
        place = authority.lowercased()
        isLoopback = isBracketed ? host == "::1" : host == "localhost" || Self.isIPv4Loopback(host)

        guard scheme == "https" || (scheme == "http" && isLoopback) else {
            throw Self.refusal(
                "\(host) cannot be reached over this scheme: only https is used, and http for this computer itself "
                    + "(localhost, 127.0.0.1, [::1])."
            )
        }
        let path = request.path.flatMap { $0.isEmpty ? nil : $0 } ?? "/"
        guard path.utf8.first == UInt8(ascii: "/"),
            path.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") })
        else {
            throw Self.refusal(
                "The path of the request to \(host) is not acceptable: it starts with a slash, has no fragment, and "
                    + "everything but visible ASCII is percent-encoded."
            )
        }
        url = "\(scheme)://\(authority)\(path)"
    }

    private static func refusal(_ message: String) -> AuthenticationError {
        AuthenticationError(.invalidArgument, message)
    }
}

extension RequestTarget {
    private static func host(of authority: String) -> (host: String, isBracketed: Bool)? {
        let bytes = authority.utf8
        let host: Substring
        let rest: Substring
        let isBracketed = bytes.first == UInt8(ascii: "[")
        if isBracketed {
            guard let end = bytes.firstIndex(of: UInt8(ascii: "]")) else { return nil }
            host = authority[bytes.index(after: bytes.startIndex)..<end]
            rest = authority[bytes.index(after: end)...]
            guard host.utf8.contains(UInt8(ascii: ":")), host.utf8.allSatisfy(isIPv6Byte) else { return nil }
        } else {
            let end = bytes.firstIndex(of: UInt8(ascii: ":")) ?? bytes.endIndex
            host = authority[..<end]
            rest = authority[end...]
            guard !host.isEmpty, host.utf8.count <= 253, host.utf8.allSatisfy(isNameByte) else { return nil }
        }
        guard isPort(rest) else { return nil }
        return (host.lowercased(), isBracketed)
    }

    /// An empty text, or a colon and 1 to 65535.
    private static func isPort(_ text: Substring) -> Bool {
        guard let colon = text.utf8.first else { return true }
        let digits = text.utf8.dropFirst()
        guard colon == UInt8(ascii: ":"), (1...5).contains(digits.count), digits.allSatisfy(isDigit),
            let number = Int(text.dropFirst())
        else { return false }
        return (1...65535).contains(number)
    }

    /// Four plain decimal numbers; programs read `127.1` and octal forms differently.
    private static func isIPv4Loopback(_ host: String) -> Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127"
            && parts.allSatisfy { part in
                part.utf8.allSatisfy(isDigit) && UInt8(part) != nil
                    && (part == "0" || part.utf8.first != UInt8(ascii: "0"))
            }
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"): true
        default: isDigit(byte)
        }
    }

    private static func isIPv6Byte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "A")...UInt8(ascii: "F"): true
        case UInt8(ascii: ":"), UInt8(ascii: "."): true
        default: isDigit(byte)
        }
    }
}
