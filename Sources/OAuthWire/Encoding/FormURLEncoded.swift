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

    /// `endpoint` with `items` added to its query.
    ///
    /// The existing query stays byte for byte, as the specification requires: Azure AD B2C names its policy there, and
    /// decoding and encoding again turned `p=b2c_1%2Bx` into another policy.
    /// - Throws: `WireError.malformed` when the endpoint has a fragment.
    /// - SeeAlso: [RFC 6749 §3.1](https://www.rfc-editor.org/rfc/rfc6749#section-3.1)
    package static func appending(_ items: [(String, String)], to endpoint: String) throws -> String {
        let bytes = endpoint.utf8
        guard !bytes.contains(UInt8(ascii: "#")) else { throw WireError.malformed("endpoint: fragment") }
        guard !items.isEmpty else { return endpoint }
        let separator =
            switch (bytes.contains(UInt8(ascii: "?")), bytes.last) {
            case (false, _): "?"
            case (true, UInt8(ascii: "?")), (true, UInt8(ascii: "&")): ""
            default: "&"
            }
        return endpoint + separator + encode(items)
    }

    /// The items of an answer through a browser, in order, as far as they can be read. A value that cannot be read is its
    /// own item's fault: its broken bytes become U+FFFD, and an item that `strict` names is left out.
    /// - Throws: `WireError.malformed` when the text is longer than 65,536 bytes, or has more than 100 items.
    package static func decodeAnswer(_ text: String, strict: Set<String>) throws -> [(String, String)] {
        guard text.utf8.count <= 65_536 else { throw WireError.malformed("form: too long") }
        let parts = text.utf8.split(separator: UInt8(ascii: "&"))
        guard parts.count <= 100 else { throw WireError.malformed("form: too many items") }
        return parts.compactMap { part in
            if let item = try? decode(String(Substring(part))).first { return item }
            let pieces = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
                .map { PercentEncoding.decodeRepairing($0, plusIsSpace: true) }
            return strict.contains(pieces[0]) ? nil : (pieces[0], pieces.count > 1 ? pieces[1] : "")
        }
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
