// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// What signing out does beyond removing the account from this computer.
///
/// ```swift
/// var parameters = SignOutParameters()
/// parameters.revokesTokens = true
/// let result = try await app.signOut(account, parameters: parameters)
/// ```
public struct SignOutParameters: Sendable {
    /// Whether the provider is told that the refresh token is not wanted any more (RFC 7009).
    public var revokesTokens = false

    /// Whether the browser is sent to the provider's sign-out page, so that its session ends as well.
    public var endsBrowserSession = false

    /// Where the browser comes back to after that; `nil` means that it stays at the provider.
    ///
    /// Give it only where it is registered with the provider, exactly so: else the provider shows an error instead of
    /// signing out. The loopback address with a path of its own serves, or what the configured receiver can listen on.
    public var postLogoutRedirectURI: RedirectURI?

    /// Names the person to the sign-out page (`logout_hint`); `nil` means what Entra ID's ID token names as
    /// `login_hint`, and nothing elsewhere.
    public var logoutHint: String?

    /// Whether the address of the sign-out page carries the ID token (`id_token_hint`), or at Entra ID what that names as
    /// `login_hint`, so that most providers sign out without asking.
    ///
    /// Without it the page is told the client alone, and ``logoutHint`` where it is given; it may ask the person. Login.gov
    /// refuses it. A browser is started with the address as an argument, which other users of the computer can see; the ID
    /// token opens no API, but names the person.
    /// - SeeAlso: [RP-Initiated Logout §2](https://openid.net/specs/openid-connect-rpinitiated-1_0.html#RPLogout)
    public var sendsIDTokenHint = true

    /// The languages of the page, the most wanted first, as BCP 47 tags (`ui_locales`).
    public var uiLocales: [String] = []

    /// More items for the sign-out page's query. A name that the library itself uses is refused.
    public var extraQueryItems: [String: String] = [:]

    /// How long the browser has to come back, where ``postLogoutRedirectURI`` is given. One minute unless set; never
    /// infinite.
    public var timeout: Duration = .seconds(60)

    /// Is told the sign-out page's address before the browser is opened, to show it. It may hold the ID token: never
    /// log it.
    ///
    /// Where it is set, a browser that cannot be opened is no failure: the person can open the address.
    public var onSignOutURL: (@Sendable (URL) -> Void)?

    /// Names the requests in the provider's logs; `nil` means a fresh one.
    public var correlationID: UUID?

    /// Removes the account from this computer, and nothing else.
    public init() {}
}
