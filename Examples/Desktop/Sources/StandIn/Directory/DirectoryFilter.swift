// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// `$filter=startswith(givenName,'…')`, the only filter that the stand-in understands.
///
/// - SeeAlso: [OData URL conventions
///   §5.1.1.7](https://docs.oasis-open.org/odata/odata/v4.01/odata-v4.01-part2-url-conventions.html)
struct DirectoryFilter: Hashable, Sendable {
    enum Property: String, Sendable {
        case givenName, surname, displayName, mail, userPrincipalName
    }

    var property: Property
    var prefix: String

    /// Parses a filter.
    ///
    /// - Returns: `nil` if the text is not such a filter, for example because an apostrophe in the name is not doubled.
    init?(_ text: String) {
        let text = text.trimmingPrefix { $0 == " " }
        guard text.hasPrefix("startswith("), text.hasSuffix(")") else { return nil }
        let arguments = text.dropFirst("startswith(".count).dropLast()
        guard let comma = arguments.firstIndex(of: ","),
            let property = Property(rawValue: Self.trimmed(arguments[..<comma]))
        else { return nil }
        let literal = Self.trimmed(arguments[arguments.index(after: comma)...])
        let quotes = literal.unicodeScalars
        guard quotes.count >= 2, quotes.first == "'", quotes.last == "'" else { return nil }
        // Compares unicode scalars, because an apostrophe and a combining accent are one `Character`.
        var inside = literal.unicodeScalars.dropFirst().dropLast()
        var prefix = String.UnicodeScalarView()
        while let scalar = inside.popFirst() {
            // Inside the string, an apostrophe must be followed by a second one.
            if scalar == "'", inside.popFirst() != "'" { return nil }
            prefix.append(scalar)
        }
        self.property = property
        self.prefix = String(prefix)
    }

    func matches(_ person: DirectoryPerson) -> Bool {
        let value =
            switch property {
            case .givenName: person.givenName
            case .surname: person.surname
            case .displayName: person.displayName
            case .mail: person.mail ?? ""
            case .userPrincipalName: person.userPrincipalName
            }
        return value.lowercased().hasPrefix(prefix.lowercased())
    }

    private static func trimmed(_ text: Substring) -> String {
        var text = text.drop { $0 == " " }
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
