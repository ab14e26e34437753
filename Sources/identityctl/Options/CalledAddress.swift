// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

extension URL {
    /// Creates the address that a command calls with a token.
    ///
    /// - Throws: `UsageError` for an address that no token goes to.
    init(called text: String) throws {
        let scheme = text.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)[0]
        let names = ["https", "http"].map { Array($0.utf8) }
        guard names.contains(String(decoding: scheme, as: UTF8.self).lowercased().utf8.map(\.self)) else {
            throw UsageError(
                "'\(text.printable)' is no web address. Start it with https://, or with http:// for this computer itself."
            )
        }
        guard let url = URL(string: text) else { throw UsageError("'\(text.printable)' is not a URL.") }
        guard url.scheme?.lowercased() != "http" || ServedAddress(asked: text) != nil else {
            throw UsageError(
                "'\(text.printable)': a token goes to an https address; over http only to this computer."
            )
        }
        self = url
    }
}
