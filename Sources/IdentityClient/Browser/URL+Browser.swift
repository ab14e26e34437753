// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

extension URL {
    /// Returns the address of `endpoint` with `items` in its query, for the browser to open.
    ///
    /// - Parameter name: The address's name in the error.
    /// - Throws: `.invalidArgument` if the address is too long or invalid.
    static func forBrowser(_ name: String, at endpoint: String, with items: [(String, String)]) throws -> URL {
        let text = try FormURLEncoded.appending(items, to: endpoint)
        guard text.utf8.count <= 32 * 1024, let url = URL(string: text) else {
            throw AuthenticationError(.invalidArgument, "The \(name) would be too long, or is not an address.")
        }
        return url
    }
}
