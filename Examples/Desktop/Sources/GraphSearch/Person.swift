// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A person in the organization. A property that Graph leaves out, or sets to null, is `nil`.
struct Person: Decodable, Hashable, Sendable, Identifiable {
    var id: String
    var displayName: String?
    var userPrincipalName: String?
    var mail: String?
    var businessPhones: [String]?
    var mobilePhone: String?

    /// The person's name in the list.
    var title: String { displayName ?? userPrincipalName ?? id }
}
