// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The identifier that the authorization server gave the program at registration. It is opaque and not a secret.
///
/// ```swift
/// let clientID: ClientID = "00001111-aaaa-2222-bbbb-3333cccc4444"
/// ```
///
/// - SeeAlso: [RFC 6749 §2.2](https://www.rfc-editor.org/rfc/rfc6749#section-2.2)
public struct ClientID: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The identifier as the server knows it.
    public let rawValue: String

    /// Wraps an identifier. Creating the application object checks it.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Wraps an identifier. Creating the application object checks it.
    public init(stringLiteral value: String) {
        rawValue = value
    }

    /// The identifier.
    public var description: String { rawValue }
}
