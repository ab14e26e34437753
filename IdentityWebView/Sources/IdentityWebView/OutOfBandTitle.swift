// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

#if WebView
import FoundationEssentials

/// The answer to `urn:ietf:wg:oauth:2.0:oob` in a page's title, in place of a redirect.
///
/// Microsoft's providers redirect to the URN with a query, as to any address. Google's showed a page titled `Success
/// code=…&state=…`, or `Denied error=…`. As always, `state` decides whether the answer belongs to the request.
enum OutOfBandTitle {
    /// Returns whether the redirect URI is the URN, or Google's second form of it for pages that close themselves.
    static func isAsked(by redirectURI: String) -> Bool {
        ["urn:ietf:wg:oauth:2.0:oob", "urn:ietf:wg:oauth:2.0:oob:auto"].contains(redirectURI.lowercased())
    }

    /// Returns the redirect that the title stands for, or `nil` if the title holds no answer.
    static func redirect(in title: String, to redirectURI: String) -> URL? {
        for outcome in ["Success ", "Denied "] where title.hasPrefix(outcome) {
            let query = title.dropFirst(outcome.count)
            let isQuery = query.utf8.allSatisfy { (0x21...0x7E).contains($0) && !#""<>\^`{|}#"#.utf8.contains($0) }
            guard isQuery, query.contains("code=") || query.contains("error=") else { return nil }
            return URL(string: "\(redirectURI)?\(query)")
        }
        return nil
    }
}
#endif
