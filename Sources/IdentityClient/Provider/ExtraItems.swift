// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// A program's additional parameters of a request.
enum ExtraItems {
    /// The items in order, of a request that names the authority's resource.
    static func checked(_ items: [String: String], at authority: Authority) throws -> [(String, String)] {
        let named = Set(authority.resourceItems.map(\.0))
        return try checked(items, reserved: AuthorizationRequestMessage.reservedNames.union(named))
    }

    /// The items in order.
    ///
    /// - Throws: `.invalidArgument` for a name that the library sets itself, or that could replace a request.
    static func checked(
        _ items: [String: String],
        reserved: Set<String> = AuthorizationRequestMessage.reservedNames
    ) throws -> [(String, String)] {
        try items.sorted { $0.key < $1.key }.map { name, value in
            guard !name.isEmpty, !reserved.contains(name) else {
                throw AuthenticationError(
                    .invalidArgument,
                    "The extra item '\(name.prefix(50))' is one that the library sets itself."
                )
            }
            return (name, value)
        }
    }

    /// The items of a form in order.
    ///
    /// - Parameter limit: The most bytes of a value.
    /// - Throws: `.invalidArgument`, also for a name or a value that no token endpoint expects.
    static func checkedForm(
        _ items: [String: String],
        reserved: Set<String>,
        atMost limit: Int
    ) throws -> [(String, String)] {
        for (name, value) in items {
            guard (1...100).contains(name.utf8.count), name.utf8.areVisible,
                (1...limit).contains(value.utf8.count),
                !value.utf8.hasControls
            else {
                throw AuthenticationError(
                    .invalidArgument,
                    """
                    The parameter \(WireText.quoted(name, upTo: 50)) cannot be sent: its name has 1 to 100 visible ASCII \
                    characters, its value 1 to \(limit) bytes without control characters.
                    """
                )
            }
        }
        return try checked(items, reserved: reserved)
    }

    /// Whether a hint fits into an address: a kilobyte at most, without control characters.
    static func fits(_ text: String) -> Bool {
        text.utf8.count <= 1000 && !text.utf8.hasControls
    }
}

/// The `claims` parameter, from the caller's claims and the program's capabilities.
enum ClaimsParameter {
    /// - Throws: `.invalidArgument` if `claims` is not a JSON object. The message does not repeat the claims.
    static func merged(_ claims: String?, _ capabilities: [String]) throws -> String? {
        do {
            return try ClaimsParameterText.merging(claims: claims, capabilities: capabilities)
        } catch {
            throw AuthenticationError(
                .invalidArgument,
                "The claims are not a JSON object, or contradict the capabilities."
            )
        }
    }
}

extension Set<Scope> {
    /// The scopes in a stable order.
    ///
    /// - Throws: `.invalidArgument` if a scope has invalid characters (RFC 6749 §3.3).
    func checked() throws -> [String] {
        guard allSatisfy(\.isWellFormed) else {
            throw AuthenticationError(
                .invalidArgument,
                "A scope is empty, or has spaces, quotes, backslashes or other than ASCII characters. Give each scope by itself."
            )
        }
        return map(\.rawValue).sorted()
    }
}
