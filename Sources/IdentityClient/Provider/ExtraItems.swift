// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// What a program adds to a request in words of its own.
enum ExtraItems {
    /// The items in order.
    ///
    /// - Throws: `.invalidArgument` for a name that the library sets itself, or by which a request could be replaced.
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

    /// Whether a hint can stand in an address: a kilobyte at most, without control characters.
    static func fits(_ text: String) -> Bool {
        text.utf8.count <= 1000 && text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
    }
}
