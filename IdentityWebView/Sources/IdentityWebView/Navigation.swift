// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

#if WebView
import FoundationEssentials

/// Where a page wants to go: WebKit asks before anything of it is loaded.
struct Navigation: Hashable, Sendable {
    var address: String
    var method = "GET"
    /// Whether it is meant for another window.
    var opensWindow = false
    /// Whether the person clicked or typed for it.
    var isWanted = true

    /// What becomes of it.
    enum Decision: Hashable, Sendable {
        case load
        /// It is loaded in this window, where "back" leads back: there is only this one.
        case loadHere
        /// The provider's answer; nothing is loaded.
        case redirect(URL)
        /// The answer, in a form that is not to be seen here.
        case unreadableAnswer
        case refuse
    }

    /// The decision, for a sign-in whose answer goes to `redirect`.
    ///
    /// Only what TLS protects is shown, and this machine's own pages; no files, no `data:`, no other programs.
    func decision(redirect: RedirectAddress) -> Decision {
        if redirect.matches(address) {
            // The body of a form post is not shown to who decides. A redirect after a form may still be called a POST.
            guard method == "GET" || Self.hasAnswer(address), let url = URL(string: address) else {
                return .unreadableAnswer
            }
            return .redirect(url)
        }
        guard PageOrigin(address)?.isProtected == true else {
            // Empty frames, which pages fill themselves.
            return !opensWindow && ["about:blank", "about:srcdoc"].contains(address) ? .load : .refuse
        }
        guard opensWindow else { return .load }
        return isWanted && method == "GET" ? .loadHere : .refuse
    }

    /// Whether the query is an authorization response (RFC 6749 §4.1.2).
    private static func hasAnswer(_ address: String) -> Bool {
        guard let mark = address.firstIndex(of: "?") else { return false }
        return address[address.index(after: mark)...].split(separator: "&").contains {
            $0.hasPrefix("code=") || $0.hasPrefix("error=")
        }
    }
}

/// Who a page comes from: what the person is shown to judge it by.
struct PageOrigin: Hashable, Sendable, CustomStringConvertible {
    var scheme: String
    var host: String
    var port: String?

    /// The origin of a web page; `nil` for anything else, and for an address with a user in front of its host.
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

    /// Whether nobody on the network can read or change the page.
    var isProtected: Bool {
        scheme == "https" || ["localhost", "127.0.0.1", "[::1]"].contains(host)
    }

    /// The host, with a port where it is not the usual one, and the scheme where it is not `https`.
    var description: String {
        (scheme == "https" ? "" : "\(scheme)://") + host + (port.map { ":\($0)" } ?? "")
    }
}
#endif
