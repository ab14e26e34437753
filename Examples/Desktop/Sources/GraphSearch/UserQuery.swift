// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation

/// Asks Graph for the people whose given name begins with a text.
struct UserQuery: Hashable, Sendable {
    /// The beginning of the given name; empty asks for everybody.
    var prefix: String
    /// How many people a page has.
    var pageSize = 50

    /// Spaces around it are not part of what is looked for.
    init(_ text: String) {
        prefix = text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// The filter: inside a string of OData an apostrophe is written twice.
    ///
    /// By scalars: an apostrophe and a combining accent are one `Character`, but the server sees the apostrophe.
    /// - SeeAlso: [OData URL conventions §5.1.1.14](https://docs.oasis-open.org/odata/odata/v4.01/odata-v4.01-part2-url-conventions.html#sec_PrimitiveLiterals)
    var filter: String? {
        guard !prefix.isEmpty else { return nil }
        let literal = prefix.unicodeScalars.map { $0 == "'" ? "''" : String($0) }.joined()
        return "startswith(givenName, '\(literal)')"
    }

    /// The address of the first page below Graph's root.
    func url(below graph: URL) -> URL? {
        var query = "$top=\(pageSize)"
        if let filter { query += "&$filter=\(Self.encoded(filter))" }
        var parts = URLComponents(url: graph.appending(path: "users"), resolvingAgainstBaseURL: false)
        parts?.percentEncodedQuery = query
        return parts?.url
    }

    /// Encodes everything but what means the same in every part of an address (RFC 3986 §2.3), `+` and `&` above all.
    static func encoded(_ text: String) -> String {
        let unreserved = CharacterSet(
            charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
        )
        return text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
    }
}
