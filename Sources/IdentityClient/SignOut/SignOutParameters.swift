// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// The parameters of a sign-out, beyond removing the account from this computer.
///
/// ```swift
/// var parameters = SignOutParameters()
/// parameters.revokesTokens = true
/// let result = try await app.signOut(account, parameters: parameters)
/// ```
public struct SignOutParameters: Sendable {
    /// Whether the provider is asked to revoke the refresh token (RFC 7009). `false` unless set.
    public var revokesTokens = false

    /// Whether the browser opens the provider's sign-out page, so that its session ends as well. `false` unless set.
    public var endsBrowserSession = false

    /// The address to which the browser returns after that; `nil` means that it stays at the provider.
    ///
    /// Set it only if exactly this address is registered with the provider: otherwise the provider shows an error
    /// instead of signing out. The loopback address with a path of its own works, as does any address that the
    /// configured receiver can listen on.
    public var postLogoutRedirectURI: RedirectURI?

    /// The person's name for the sign-out page (`logout_hint`). `nil` means the `login_hint` of the ID token at Entra
    /// ID, and no hint at other providers.
    public var logoutHint: String?

    /// Whether the address of the sign-out page carries the ID token (`id_token_hint`), or at Entra ID the token's
    /// `login_hint`, so that most providers sign out without asking. `true` unless set.
    ///
    /// Without it, the page receives the client identifier alone, and ``logoutHint`` if it is set, and may ask the
    /// person. Login.gov refuses the ID token. The browser is started with the address as an argument, which other
    /// users of the computer can see. The ID token gives no access to an API, but it names the person.
    /// - SeeAlso: [RP-Initiated Logout §2](https://openid.net/specs/openid-connect-rpinitiated-1_0.html#RPLogout)
    public var sendsIDTokenHint = true

    /// The languages of the page, in order of preference, as BCP 47 tags (`ui_locales`).
    public var uiLocales: [String] = []

    /// Additional items of the sign-out page's query. A name that the library itself uses is refused.
    public var extraQueryItems: [String: String] = [:]

    /// The time that the browser has to return, if ``postLogoutRedirectURI`` is set. One minute unless set; never
    /// infinite.
    public var timeout: Duration = .seconds(60)

    /// Receives the sign-out page's address before the browser is opened, to show it. The address may contain the ID
    /// token: never log it.
    ///
    /// If it is set, a browser that cannot be opened is no failure, because the person can open the address.
    public var onSignOutURL: (@Sendable (URL) -> Void)?

    /// The identifier of the requests in the provider's logs; `nil` means a new identifier.
    public var correlationID: UUID?

    /// Creates parameters that remove the account from this computer and do nothing else.
    public init() {}
}
