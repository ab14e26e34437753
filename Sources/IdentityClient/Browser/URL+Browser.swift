// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

extension URL {
    /// The address if a browser may open it: `https`, or `http` on the loopback interface, in text that a browser or a script
    /// cannot misread.
    var addressForBrowser: String? {
        let address = absoluteString
        let isLoopback = ["localhost", "127.0.0.1", "::1", "[::1]"].contains(host()?.lowercased())
        let scheme = scheme?.lowercased()
        guard host()?.isEmpty == false, scheme == "https" || scheme == "http" && isLoopback,
            address.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !#""<>\^`{|}"#.utf8.contains($0) })
        else { return nil }
        return address
    }

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
