// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// What a sign-in on another device asks for.
///
/// ```swift
/// let parameters = DeviceCodeParameters(scopes: ["email"])
/// let result = try await app.acquireTokenWithDeviceCode(parameters) { prompt in
///     print("Open \(prompt.verificationURI) and enter \(prompt.userCode)")
/// }
/// ```
public struct DeviceCodeParameters: Sendable {
    /// The scopes the token shall have. `openid`, `profile` and `offline_access` are added where the kind of authority
    /// has them.
    public var scopes: Set<Scope>

    /// The account that is to sign in again: another person is refused.
    public var account: Account?

    /// Another authority of the same kind and cloud: a tenant; `nil` means the configured one.
    public var authority: Authority?

    /// A claims request or challenge (JSON).
    public var claims: String?

    /// More items for the request for a code. A name that the library itself uses is refused.
    public var extraParameters: [String: String] = [:]

    /// How long the person has at most; `nil` means as long as the provider says, which is most often 15 minutes.
    public var timeout: Duration?

    /// Whether a cache that cannot be written ends the sign-in before the person begins: with its error, `.cache` or a second
    /// level of it.
    ///
    /// Unless it is set, the sign-in goes on, its tokens live until the program ends, and
    /// `AuthenticationResult/persistence` says so. The cache is asked in any case, so that a keyring is unlocked beforehand.
    public var requiresPersistence = false

    /// Names the requests in the provider's logs; `nil` means a fresh one.
    public var correlationID: UUID?

    /// Asks for `scopes`; everything else has a default.
    public init(scopes: Set<Scope>) {
        self.scopes = scopes
    }
}

/// What to show a person who signs in on another device.
///
/// ```swift
/// print("Open \(prompt.verificationURI) and enter \(prompt.userCode)")
/// ```
public struct DeviceCodePrompt: Hashable, Sendable {
    /// What the person types there.
    public let userCode: String

    /// Where the person types it: an `https` address, short enough to be typed; it may have a fragment (`#/device`).
    public let verificationURI: URL

    /// The same with the code in it, for a QR code or a link; `nil` where the provider gives none, as Entra ID does not.
    public let verificationURIComplete: URL?

    /// One line that says what to do: the provider's own, else in English.
    public let message: String

    /// When the code becomes void, by this computer's clock.
    public let expiresOn: Date

    /// Creates a prompt; a program's tests do this.
    public init(
        userCode: String,
        verificationURI: URL,
        verificationURIComplete: URL? = nil,
        message: String? = nil,
        expiresOn: Date
    ) {
        self.userCode = userCode
        self.verificationURI = verificationURI
        self.verificationURIComplete = verificationURIComplete
        self.message =
            message
            ?? "To sign in, open \(verificationURI.absoluteString) on any device and enter the code \(userCode)."
        self.expiresOn = expiresOn
    }
}
