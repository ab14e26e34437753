// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// Items of a program's own in a request.
enum ExtraItems {
    /// The items in order.
    ///
    /// - Throws: `.invalidArgument` for a name that the library sets itself, or by which a request could be replaced.
    static func checked(_ items: [String: String]) throws -> [(String, String)] {
        try items.sorted { $0.key < $1.key }.map { name, value in
            guard !name.isEmpty, !AuthorizationRequestMessage.reservedNames.contains(name) else {
                throw AuthenticationError(
                    .invalidArgument,
                    "The extra item '\(name.prefix(50))' is one that the library sets itself."
                )
            }
            return (name, value)
        }
    }
}
