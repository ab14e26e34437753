// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
public import IdentityClient

extension RedirectURI {
    /// The redirect URI in the settings files of old samples, which showed the page in a web view of their own.
    private static let outOfBand = "urn:ietf:wg:oauth:2.0:oob"

    /// Parses an address to which the browser can return in this program.
    ///
    /// - Parameters:
    ///   - text: A loopback address such as `http://localhost`, with or without a port and a path; or an address with a
    ///     scheme of the program's own, such as `com.example.app://auth`. If the page is in a window of the program, any
    ///     other address without plain `http` is allowed too. In the browser, `urn:ietf:wg:oauth:2.0:oob` stands for `http://localhost`.
    ///   - page: The place where the sign-in page is shown.
    /// - Returns: The redirect URI; `nil` for any other address.
    /// - Throws: `AuthenticationError.configuration` if the address has such a form, but the library refuses it.
    public static func receivable(_ text: String, page: PageChoice) throws -> RedirectURI? {
        if let loopback = try loopback(text) { return loopback }
        if text == outOfBand, page == .browser { return .loopback }
        guard let url = URL(string: text), let scheme = url.scheme?.lowercased() else { return nil }
        return url.hasOwnScheme || page == .embedded && scheme != "http" ? try .custom(url) : nil
    }

    private static func loopback(_ text: String) throws -> RedirectURI? {
        guard let parts = URLComponents(string: text), parts.scheme == "http", parts.query == nil,
            parts.fragment == nil,
            parts.user == nil, let host = LoopbackHost(rawValue: parts.host?.lowercased() ?? ""),
            let port = UInt16(exactly: parts.port ?? 0)
        else { return nil }
        return try .loopback(host: host, ports: port == 0 ? nil : port...port, path: parts.percentEncodedPath)
    }
}

extension URL {
    /// Whether the scheme can be the program's own: a domain name in reverse, or `msal` and the client id.
    var hasOwnScheme: Bool {
        guard let scheme = scheme?.lowercased() else { return false }
        return scheme.contains(".") || scheme.hasPrefix("msal")
    }
}
