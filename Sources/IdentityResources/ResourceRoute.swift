// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityClient
import OAuthWire

/// The route of a request: its address after redirects, and whether the token goes there too.
struct ResourceRoute: Sendable {
    let address: WebAddress
    /// The request, without the token.
    let request: HTTPRequest
    /// Whether the request carries the token. `false` after a redirect to where it may not go, even if a later redirect leads
    /// back.
    let carriesToken: Bool
    /// Where the token may go: this address, and below it.
    private let reach: WebAddress
    private let redirects: Int

    /// The longest address in bytes. It exceeds the limit for a provider's endpoints, because of pages and signed
    /// addresses of storage services.
    static let maximumAddressLength = 8192
    private static let maximumRedirects = 10

    /// Creates the route of a request.
    ///
    /// - Parameter reach: Returns where the token may go, of the request's address.
    /// - Throws: `.invalidArgument` when the request is not to https, or http on this computer; the errors of `reach`.
    init(_ request: HTTPRequest, reach: (WebAddress) throws -> WebAddress = { $0.root }) throws {
        let text = "\(request.scheme ?? "")://\(request.authority ?? "")\(request.path ?? "/")"
        guard let address = WebAddress(text, maximumLength: Self.maximumAddressLength) else {
            throw AuthenticationError(
                .invalidArgument,
                "The request is not to an acceptable address: https, or http for this computer itself, without a name "
                    + "and password, with everything but visible ASCII percent-encoded, and at most 8192 bytes."
            )
        }
        var fields = request.headerFields
        fields[.authorization] = nil
        self.init(
            address: address,
            method: request.method,
            fields: fields,
            carriesToken: true,
            reach: try reach(address),
            redirects: 0
        )
    }

    private init(
        address: WebAddress,
        method: HTTPRequest.Method,
        fields: HTTPFields,
        carriesToken: Bool,
        reach: WebAddress,
        redirects: Int
    ) {
        self.address = address
        self.carriesToken = carriesToken
        self.reach = reach
        self.redirects = redirects
        request = HTTPRequest(
            method: method,
            scheme: address.scheme,
            authority: address.environment,
            path: address.target,
            headerFields: fields
        )
    }

    /// Returns the route after `response`, or `nil` if that is not a redirect to follow. Only redirects of `GET` and
    /// `HEAD` with a `Location` are followed.
    ///
    /// - Throws: `.malformedResponse` when the redirect leads from https to http or to an address that is not
    ///   acceptable, or when there are too many redirects.
    /// - SeeAlso: [RFC 9110 §15.4](https://www.rfc-editor.org/rfc/rfc9110#section-15.4)
    func following(_ response: HTTPResponse) throws -> ResourceRoute? {
        guard request.method == .get || request.method == .head,
            [301, 302, 303, 307, 308].contains(response.status.code),
            let location = response.headerFields[.location]
        else { return nil }
        guard redirects < Self.maximumRedirects else {
            throw refusal("\(address.host) redirects on and on; after \(Self.maximumRedirects) redirects it is enough.")
        }
        guard let next = address.resolving(location), next.scheme == address.scheme || next.scheme == "https",
            !next.mayBeLoopback || address.mayBeLoopback
        else {
            throw refusal(
                """
                \(address.host) redirects to an address that is not followed: one without TLS, one of this computer, or not a \
                web address.
                """
            )
        }
        let isSameOrigin = next.origin == address.origin
        return ResourceRoute(
            address: next,
            method: request.method,
            fields: isSameOrigin ? request.headerFields : request.headerFields.forAnotherOrigin,
            carriesToken: carriesToken && reach.isAbove(next),
            reach: reach,
            redirects: redirects + 1
        )
    }

    private func refusal(_ message: String) -> AuthenticationError {
        AuthenticationError(.malformedResponse, message)
    }
}

extension HTTPFields {
    /// The fields that are useless to another origin. Any other field may contain keys or cookies.
    fileprivate var forAnotherOrigin: HTTPFields {
        let names: Set<HTTPField.Name> = [
            .accept, .acceptLanguage, .range, .userAgent, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifRange,
            .ifUnmodifiedSince,
        ]
        return HTTPFields(filter { names.contains($0.name) })
    }
}

extension WebAddress {
    /// The origin, as an address.
    var root: WebAddress { WebAddress(scheme: scheme, host: host, port: port, path: "") }

    /// Returns the address that `reference` denotes relative to this address, or `nil` if it is not acceptable.
    ///
    /// - SeeAlso: [RFC 3986 §5.2](https://www.rfc-editor.org/rfc/rfc3986#section-5.2)
    func resolving(_ reference: String) -> WebAddress? {
        let reference = String(reference[..<(reference.firstIndex(of: "#") ?? reference.endIndex)])
        let text: String
        if Self.hasScheme(reference) {
            text = reference
        } else if reference.hasPrefix("//") {
            text = "\(scheme):\(reference)"
        } else if reference.isEmpty {
            return self
        } else if reference.hasPrefix("?") {
            text = origin + path + reference
        } else {
            let queryStart = reference.firstIndex(of: "?") ?? reference.endIndex
            // The root, for an address without a path.
            let directory = path.lastIndex(of: "/").map { path[...$0] } ?? "/"
            let absolute = reference.hasPrefix("/") ? reference[..<queryStart] : directory + reference[..<queryStart]
            text = origin + Self.withoutDots(String(absolute)) + reference[queryStart...]
        }
        return WebAddress(text, maximumLength: ResourceRoute.maximumAddressLength)
    }

    private static func hasScheme(_ text: String) -> Bool {
        guard let colon = text.firstIndex(where: { ":/?".contains($0) }), text[colon] == ":" else { return false }
        return true
    }

    /// Removes dot segments (RFC 3986 §5.2.4) from a path that begins with a slash.
    private static func withoutDots(_ path: String) -> String {
        var kept: [Substring] = []
        let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            switch segment {
            case ".": if isLast { kept.append("") }
            case "..":
                _ = kept.popLast()
                if isLast { kept.append("") }
            default: kept.append(segment)
            }
        }
        return "/" + kept.joined(separator: "/")
    }
}
