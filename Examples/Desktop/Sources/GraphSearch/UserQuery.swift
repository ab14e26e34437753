// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation

/// A query to Graph for the people whose given name begins with a text.
struct UserQuery: Hashable, Sendable {
    /// The beginning of the given name; an empty text matches every person.
    var prefix: String
    /// The number of people on a page.
    var pageSize = 50

    /// Creates a query. Spaces around the text are removed.
    init(_ text: String) {
        prefix = text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// The filter. Inside an OData string, an apostrophe is written twice.
    ///
    /// The code compares unicode scalars: an apostrophe and a combining accent are one `Character`, but the server sees
    /// the apostrophe.
    /// - SeeAlso: [OData URL conventions
    ///   §5.1.1.14](https://docs.oasis-open.org/odata/odata/v4.01/odata-v4.01-part2-url-conventions.html#sec_PrimitiveLiterals)
    var filter: String? {
        guard !prefix.isEmpty else { return nil }
        let literal = prefix.unicodeScalars.map { $0 == "'" ? "''" : String($0) }.joined()
        return "startswith(givenName, '\(literal)')"
    }

    /// Returns the address of the first page below Graph's root.
    func url(below graph: URL) -> URL? {
        var query = "$top=\(pageSize)"
        if let filter { query += "&$filter=\(Self.encoded(filter))" }
        var parts = URLComponents(url: graph.appending(path: "users"), resolvingAgainstBaseURL: false)
        parts?.percentEncodedQuery = query
        return parts?.url
    }

    /// Encodes all characters except those with the same meaning in every part of an address (RFC 3986 §2.3). Most
    /// important are `+` and `&`.
    static func encoded(_ text: String) -> String {
        let unreserved = CharacterSet(
            charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
        )
        return text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
    }
}
