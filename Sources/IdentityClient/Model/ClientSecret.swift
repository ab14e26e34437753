// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// What some authorization servers call a secret and give to installed programs all the same, Google's for one.
///
/// Whoever has the program has it, too: it proves nothing, and a sign-in is protected by PKCE as it is without one. Register
/// the program without a secret wherever the server lets you. Its descriptions show nothing of it.
///
/// It goes to the server with every request but the browser's: by HTTP Basic where the server publishes
/// `client_secret_basic` and no `client_secret_post`, else in the form. Where it lets each client register one of them,
/// as Authelia does, register `client_secret_post`.
///
/// ```swift
/// configuration.clientSecret = ClientSecret(rawValue: secretOfTheDesktopClient)
/// ```
///
/// - SeeAlso: [RFC 8252 §8.5](https://www.rfc-editor.org/rfc/rfc8252#section-8.5),
///   [RFC 6749 §2.3.1](https://www.rfc-editor.org/rfc/rfc6749#section-2.3.1)
public struct ClientSecret: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
    /// The text as the server gave it. Nothing must log it.
    public let rawValue: String

    /// Wraps a secret; it is checked when the application object is made.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Wraps a secret; it is checked when the application object is made.
    public init(stringLiteral value: String) {
        rawValue = value
    }
}

extension ClientSecret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Says that there is one, not which.
    public var description: String { "ClientSecret(redacted)" }

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// Shows nothing, so that `dump` reveals nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
