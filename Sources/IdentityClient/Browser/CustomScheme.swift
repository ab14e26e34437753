// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// A program's own URI scheme, as in `msauth.com.example.app://auth`.
///
/// - SeeAlso: [RFC 8252 §7.1](https://www.rfc-editor.org/rfc/rfc8252#section-7.1)
package struct CustomScheme: Hashable, Sendable, CustomStringConvertible {
    /// In lower case.
    package let name: String

    /// Checks a scheme.
    ///
    /// - Throws: `.invalidArgument` if it is invalid, or if other programs may handle it, because without a period it
    ///   contains no domain name.
    /// - SeeAlso: [RFC 3986 §3.1](https://www.rfc-editor.org/rfc/rfc3986#section-3.1),
    ///   [RFC 8252 §8.4](https://www.rfc-editor.org/rfc/rfc8252#section-8.4)
    package init(_ text: String) throws {
        let name = text.lowercased()
        let isScheme =
            (2...64).contains(name.utf8.count)
            && name.utf8.first.map { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) } == true
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
                case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."): true
                default: false
                }
            }
        guard isScheme else {
            throw AuthenticationError(
                .invalidArgument,
                "A scheme has 2 to 64 of the characters a-z, 0-9, '+', '-' and '.', and begins with a letter."
            )
        }
        guard name.utf8.contains(UInt8(ascii: ".")) || Self.namesClient(name) else {
            throw AuthenticationError(
                .invalidArgument,
                "The scheme '\(name)' has no period, so another program may use it too. Choose a scheme that begins with a "
                    + "domain name of yours in reverse, like com.example.app."
            )
        }
        self.name = name
    }

    package var description: String { name }

    /// Deviation: Entra ID registers `msal` followed by the client identifier, which is unique.
    private static func namesClient(_ name: String) -> Bool {
        name.hasPrefix("msal") && UUID(uuidString: String(name.dropFirst(4))) != nil
    }
}

extension RedirectURI {
    /// The scheme, if it is the program's own.
    package var customScheme: CustomScheme? {
        guard case .custom(let url) = kind else { return nil }
        return try? CustomScheme(url.scheme ?? "")  // any other is nobody's own
    }
}
