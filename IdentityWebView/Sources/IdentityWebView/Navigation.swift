// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

#if WebView
import FoundationEssentials

/// A navigation that a page requests. WebKit asks about it before loading anything.
struct Navigation: Hashable, Sendable {
    var address: String
    var method = "GET"
    /// Whether the navigation is meant for another window.
    var opensWindow = false
    /// Whether a click or key press of the person caused the navigation.
    var isWanted = true

    /// The decision about a navigation.
    enum Decision: Hashable, Sendable {
        case load
        /// The page is loaded in this window, which is the only one, and "back" leads back.
        case loadHere
        /// The provider's answer. Nothing is loaded.
        case redirect(URL)
        /// The provider's answer, in a form that cannot be read here.
        case unreadableAnswer
        case refuse
    }

    /// Returns the decision for a sign-in with the redirect address `redirect`.
    ///
    /// Only pages protected by TLS and this machine's own pages are shown. Files, `data:` addresses and other programs
    /// are refused.
    func decision(redirect: RedirectAddress) -> Decision {
        if redirect.matches(address) {
            // WebKit does not show the body of a form post here. A redirect after a form may still be reported as a
            // POST.
            guard method == "GET" || Self.hasAnswer(address), let url = URL(string: address) else {
                return .unreadableAnswer
            }
            return .redirect(url)
        }
        guard PageOrigin(address)?.isProtected == true else {
            // Empty frames, whose content the page sets itself.
            return !opensWindow && ["about:blank", "about:srcdoc"].contains(address) ? .load : .refuse
        }
        guard opensWindow else { return .load }
        return isWanted && method == "GET" ? .loadHere : .refuse
    }

    /// Returns whether the query is an authorization response (RFC 6749 §4.1.2).
    private static func hasAnswer(_ address: String) -> Bool {
        guard let mark = address.firstIndex(of: "?") else { return false }
        return address[address.index(after: mark)...].split(separator: "&").contains {
            $0.hasPrefix("code=") || $0.hasPrefix("error=")
        }
    }
}

/// The origin of a page, shown to the person, who judges the page by it.
struct PageOrigin: Hashable, Sendable, CustomStringConvertible {
    var scheme: String
    var host: String
    var port: String?

    /// The origin of a web page; `nil` for any other address, and for an address with a user before its host.
    init?(_ address: String) {
        guard let mark = address.firstRange(of: "://") else { return nil }
        scheme = address[..<mark.lowerBound].lowercased()
        let authority = address[mark.upperBound...].prefix { !"/?#\\".contains($0) }.lowercased()
        guard scheme == "http" || scheme == "https", !authority.isEmpty, !authority.contains("@") else { return nil }
        let portStart = authority.lastIndex(of: ":").flatMap { authority[$0...].contains("]") ? nil : $0 }
        host = String(authority[..<(portStart ?? authority.endIndex)])
        port = portStart.map { String(authority[authority.index(after: $0)...]) }
        guard !host.isEmpty else { return nil }
    }

    /// Whether TLS or the loopback interface protects the page from others on the network.
    var isProtected: Bool {
        scheme == "https" || ["localhost", "127.0.0.1", "[::1]"].contains(host)
    }

    /// The host, with the port if it is not the default, and the scheme if it is not `https`.
    var description: String {
        (scheme == "https" ? "" : "\(scheme)://") + host + (port.map { ":\($0)" } ?? "")
    }
}
#endif
