// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// What a silent acquisition asks for.
///
/// ```swift
/// let parameters = SilentParameters(scopes: scopes, account: account, minimumValidity: .seconds(600))
/// let result = try await app.acquireTokenSilently(parameters)
/// ```
public struct SilentParameters: Sendable {
    /// The scopes the token must have. `openid`, `profile` and `offline_access` need not be named.
    ///
    /// Without a scope of an API, what is given is a token that was asked for without one, never an API's from the cache.
    public var scopes: Set<Scope>

    /// Whose token. It came from an earlier result, or from `allAccounts()`.
    public var account: Account

    /// Another authority of the same kind and cloud: a tenant, a B2C policy; `nil` means the configured one.
    public var authority: Authority?

    /// A claims challenge (JSON) from an API or an error; the cached access token is passed over.
    public var claims: String?

    /// Whether the cached access token is passed over. Such a call never joins a refresh that began before it.
    public var forcesRefresh: Bool

    /// How long the token shall be good at least; a resolution of one second, rounded up. Zero unless set, which leaves it to
    /// the configuration's `expirationLeeway`; negative is `.invalidArgument`.
    ///
    /// A cached token that is good for less is renewed. What comes may be good for less all the same: see the result's
    /// `expiresOn`. That is so in the first tenth of a token's life, in which none is renewed; where there is no refresh
    /// token; and where the provider cannot be reached.
    public var minimumValidity: Duration

    /// Names the request in the provider's logs; `nil` means a fresh one when a request is made.
    public var correlationID: UUID?

    /// Asks for `scopes` for `account`.
    public init(
        scopes: Set<Scope>,
        account: Account,
        authority: Authority? = nil,
        claims: String? = nil,
        forcesRefresh: Bool = false,
        minimumValidity: Duration = .zero,
        correlationID: UUID? = nil
    ) {
        self.scopes = scopes
        self.account = account
        self.authority = authority
        self.claims = claims
        self.forcesRefresh = forcesRefresh
        self.minimumValidity = minimumValidity
        self.correlationID = correlationID
    }
}
