// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// `application/x-www-form-urlencoded`: token requests, and the browser's answer in a query or a posted form.
/// - SeeAlso: [RFC 6749 appendix B](https://www.rfc-editor.org/rfc/rfc6749#appendix-B)
package enum FormURLEncoded {
    /// The media type, for a request's `Content-Type`.
    package static let contentType = "application/x-www-form-urlencoded"

    /// `items` joined with `&`, in UTF-8; a space becomes `%20`, which every reader of forms and of queries understands.
    package static func encode(_ items: [(String, String)]) -> String {
        items.map { "\(PercentEncoding.encode($0.0))=\(PercentEncoding.encode($0.1))" }.joined(separator: "&")
    }

    /// The items in `text`, in order, repeated names included; `+` is a space, a name without `=` has an empty value.
    /// - Throws: `WireError.malformed` when the text is longer than `maximumLength` bytes, has more than `maximumItems`
    ///   items, an escape is broken, or the bytes are not UTF-8.
    package static func decode(
        _ text: String,
        maximumItems: Int = 100,
        maximumLength: Int = 65_536
    ) throws -> [(String, String)] {
        guard text.utf8.count <= maximumLength else { throw WireError.malformed("form: too long") }
        var items: [(String, String)] = []
        for part in text.utf8.split(separator: UInt8(ascii: "&")) {
            guard items.count < maximumItems else { throw WireError.malformed("form: too many items") }
            let equals = part.firstIndex(of: UInt8(ascii: "=")) ?? part.endIndex
            let value = equals == part.endIndex ? part[equals...] : part[part.index(after: equals)...]
            guard
                let name = PercentEncoding.decode(Substring(part[..<equals]), plusIsSpace: true),
                let text = PercentEncoding.decode(Substring(value), plusIsSpace: true)
            else { throw WireError.malformed("form: percent encoding") }
            items.append((name, text))
        }
        return items
    }
}
