// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// The identifier that the authorization server gave the program at registration. It is opaque and not a secret.
///
/// ```swift
/// let clientID: ClientID = "00001111-aaaa-2222-bbbb-3333cccc4444"
/// ```
///
/// - SeeAlso: [RFC 6749 §2.2](https://www.rfc-editor.org/rfc/rfc6749#section-2.2)
public struct ClientID: RawRepresentable, Hashable, Codable, Sendable, ExpressibleByStringLiteral,
    CustomStringConvertible
{
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

/// A value that some authorization servers, for example Google's, call a secret but give to installed programs.
///
/// Everyone who has the program also has this value, so it proves nothing. PKCE protects the sign-in, with or without
/// it. Register the program without a secret if the server lets you. The value's descriptions never show it.
///
/// It goes to the server with every request except the browser's: by HTTP Basic if the server publishes
/// `client_secret_basic` and no `client_secret_post`, otherwise in the form. If the server lets each client register
/// one of the two, as Authelia does, register `client_secret_post`.
///
/// An empty secret is for servers that want HTTP Basic of clients without a secret, with an empty password, as Reddit's. It
/// goes to any server in this way.
///
/// ```swift
/// configuration.clientSecret = ClientSecret(rawValue: secretOfTheDesktopClient)
/// ```
///
/// - SeeAlso: [RFC 8252 §8.5](https://www.rfc-editor.org/rfc/rfc8252#section-8.5),
///   [RFC 6749 §2.3.1](https://www.rfc-editor.org/rfc/rfc6749#section-2.3.1)
public struct ClientSecret: RawRepresentable, Hashable, Sendable {
    /// The text as the server gave it. Never log it.
    public let rawValue: String

    /// Wraps a secret. Creating the application object checks it.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}

extension ClientSecret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A fixed text that does not reveal the secret.
    public var description: String { "ClientSecret(redacted)" }

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// An empty mirror, so that `dump` reveals nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension ClientID {
    /// - Throws: `.invalidArgument` for an id that cannot be sent.
    /// - SeeAlso: [RFC 6749 §A.1](https://www.rfc-editor.org/rfc/rfc6749#appendix-A.1)
    package func check() throws {
        let bytes = rawValue.utf8
        guard (1...4096).contains(bytes.count), bytes.arePrintable,
            bytes.first != 0x20, bytes.last != 0x20
        else {
            throw AuthenticationError(
                .invalidArgument,
                """
                The client id is empty or longer than 4,096 bytes, begins or ends with a space, or has a line end or another \
                character that is not printable ASCII.
                """
            )
        }
    }
}

extension ClientSecret {
    /// Some providers give secrets beyond the ASCII of [RFC 6749 §A.2](https://www.rfc-editor.org/rfc/rfc6749#appendix-A.2).
    ///
    /// - Throws: `.invalidArgument` for a secret that cannot be sent. The message does not show it.
    package func check() throws {
        let bytes = rawValue.utf8
        guard bytes.count <= 1024, !bytes.hasControls else {
            let problem = "The client secret has a line end or another control character, or more than 1,024 bytes."
            throw AuthenticationError(.invalidArgument, problem)
        }
    }
}
