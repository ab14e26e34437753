// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// The parameters of a sign-in on another device.
///
/// ```swift
/// let parameters = DeviceCodeParameters(scopes: ["email"])
/// let result = try await app.acquireTokenWithDeviceCode(parameters) { prompt in
///     print("Open \(prompt.verificationURI) and enter \(prompt.userCode)")
/// }
/// ```
public struct DeviceCodeParameters: Sendable {
    /// The scopes of the requested token. `openid`, `profile` and `offline_access` are added if the kind of authority
    /// supports them.
    public var scopes: Set<Scope>

    /// The account to sign in again. The sign-in of another person is refused.
    public var account: Account?

    /// Another authority of the same kind and cloud, such as another tenant; `nil` means the configured authority.
    public var authority: Authority?

    /// A claims request or claims challenge (JSON).
    public var claims: String?

    /// The way in which the token is shown to an API. ``AuthenticationScheme/bearer`` unless set.
    public var scheme: AuthenticationScheme = .bearer

    /// Additional parameters of the request for a code. A name that the library itself uses is refused.
    public var extraParameters: [String: String] = [:]

    /// The most time that the person has; `nil` means the provider's limit, usually 15 minutes.
    public var timeout: Duration?

    /// Whether a cache that cannot be written ends the sign-in before the person begins, with `.cache` or one of its
    /// second levels. `false` unless set.
    ///
    /// If it is `false`, the sign-in goes on, its tokens live until the program ends, and
    /// `AuthenticationResult/persistence` says so. The cache is checked in any case, so that a keyring is unlocked
    /// beforehand.
    public var requiresPersistence = false

    /// The identifier of the requests in the provider's logs; `nil` means a new identifier.
    public var correlationID: UUID?

    /// Creates parameters that request `scopes`; everything else has a default.
    public init(scopes: Set<Scope>) {
        self.scopes = scopes
    }
}

/// The instructions to show to a person who signs in on another device.
///
/// ```swift
/// print("Open \(prompt.verificationURI) and enter \(prompt.userCode)")
/// ```
public struct DeviceCodePrompt: Hashable, Sendable {
    /// The code that the person types there.
    public let userCode: String

    /// The address at which the person types the code: an `https` address, short enough to type. It may have a fragment
    /// (`#/device`).
    public let verificationURI: URL

    /// The same address with the code in it, for a QR code or a link; `nil` if the provider gives none, as Entra ID
    /// does not.
    public let verificationURIComplete: URL?

    /// One line of instructions: the provider's text, otherwise an English text.
    public let message: String

    /// The time at which the code expires, by this computer's clock.
    public let expiresOn: Date

    /// Creates a prompt, for a program's tests.
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
