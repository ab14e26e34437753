// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

/// An address for the browser to open.
enum BrowserAddress {
    /// In bytes.
    private static let longest = 32 * 1024

    /// `endpoint` with `items` in its query.
    ///
    /// - Parameter name: The address's name in the error.
    /// - Throws: `.invalidArgument` if the address is too long or invalid.
    static func url(_ name: String, at endpoint: String, with items: [(String, String)]) throws -> URL {
        let text = try EndpointURL.appending(items, to: endpoint)
        guard text.utf8.count <= longest, let url = URL(string: text) else {
            throw AuthenticationError(.invalidArgument, "The \(name) would be too long, or is not an address.")
        }
        return url
    }
}
