// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Someone in the organisation. What Graph leaves out, or says to be null, is `nil`.
struct Person: Decodable, Hashable, Sendable, Identifiable {
    var id: String
    var displayName: String?
    var userPrincipalName: String?
    var mail: String?
    var businessPhones: [String]?
    var mobilePhone: String?

    /// What the list calls the person.
    var title: String { displayName ?? userPrincipalName ?? id }
}
