// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import OAuthWire

/// The parameters of a silent acquisition.
///
/// ```swift
/// var parameters = SilentParameters(scopes: scopes, account: account)
/// parameters.minimumValidity = .seconds(600)
/// let result = try await app.acquireTokenSilently(parameters)
/// ```
public struct SilentParameters: Sendable {
    /// The scopes that the token must have. `openid`, `profile` and `offline_access` need not be named.
    ///
    /// Without an API's scope, the call returns only a token that was requested without an API's scope, never an API's
    /// token from the cache.
    public var scopes: Set<Scope>

    /// The account of the token, from an earlier result or from `allAccounts()`.
    public var account: Account

    /// Another authority of the same kind and cloud, such as a tenant or a B2C policy; `nil` means the configured
    /// authority.
    public var authority: Authority?

    /// A claims challenge (JSON) from an API or an error. If it is set, the cached access token is not used.
    public var claims: String?

    /// Whether a refresh is required, so that the cached access token is not used. Such a call never joins a refresh
    /// that began before it. Off unless set.
    public var forcesRefresh = false

    /// The access token that an API refused: any other token answers the call. Callers and processes whose same token was
    /// refused share one refresh. `nil` unless set.
    package var refusedToken: String?

    /// The minimum remaining validity of the token, with a resolution of one second, rounded up. Zero unless set, which
    /// means the configuration's `expirationLeeway`; a negative value throws `.invalidArgument`.
    ///
    /// A cached token with less remaining validity is renewed. The returned token may still be valid for less time: see
    /// the result's `expiresOn`. This happens in the first tenth of a token's lifetime, in which no token is renewed,
    /// without a refresh token, with ``usesCacheOnly``, and if the provider cannot be reached.
    public var minimumValidity: Duration = .zero

    /// Whether only the cache is asked: no request is sent, now or in the background, and no broker is asked. Off unless
    /// set.
    ///
    /// A token counts until it expires. If there is none, the call throws `.networkNotAllowed`; a later call without this
    /// setting can renew it. Without an account or anything that could renew a token, the call throws `.noTokensFound`, as
    /// always. Together with `forcesRefresh` or `claims`, it throws `.invalidArgument`.
    public var usesCacheOnly = false

    /// Whether an expired token of the cache is returned if no new one can be had because the network or the provider is
    /// down, or because of ``usesCacheOnly``. Off unless set.
    ///
    /// The result says for how long the token has expired (``AuthenticationResult/expiredFor``). APIs refuse such a token; it
    /// serves a program that works offline and shows the account, or reads the ID token. A refusal of the provider is
    /// thrown all the same. The cache drops an expired token when it stores another token of the account.
    public var allowsExpiredToken = false

    /// The longest time that the call waits for the cache, the provider and other processes; `nil` for no limit but those of
    /// the single steps. If it is over, the call returns a token of the cache that is still valid, and otherwise throws
    /// `.networkTimedOut`, or `.cacheBusy` if the cache did not answer or another program was refreshing the token. A refresh
    /// that has begun goes on, and a later call finds its token.
    ///
    /// Measured in real time; a value that is not above zero throws `.invalidArgument`.
    public var timeout: Duration?

    /// The way in which the token is shown to an API. ``AuthenticationScheme/bearer`` unless set.
    public var scheme: AuthenticationScheme = .bearer

    /// The key that the token is bound to. The application object sets it once it knows the key.
    var binding: TokenBinding?

    /// The end of ``timeout``, once the call has begun.
    var deadline: CallDeadline?

    /// The identifier of the request in the provider's logs; `nil` means a new identifier if a request is made.
    public var correlationID: UUID?

    /// Creates parameters that request `scopes` for `account`; everything else has a default.
    public init(scopes: Set<Scope>, account: Account) {
        self.scopes = scopes
        self.account = account
    }

    package init(
        scopes: Set<Scope>,
        account: Account,
        authority: Authority? = nil,
        claims: String? = nil,
        forcesRefresh: Bool = false,
        minimumValidity: Duration = .zero,
        usesCacheOnly: Bool = false,
        allowsExpiredToken: Bool = false,
        timeout: Duration? = nil,
        correlationID: UUID? = nil
    ) {
        self.init(scopes: scopes, account: account)
        (self.authority, self.claims, self.forcesRefresh) = (authority, claims, forcesRefresh)
        (self.minimumValidity, self.timeout, self.correlationID) = (minimumValidity, timeout, correlationID)
        (self.usesCacheOnly, self.allowsExpiredToken) = (usesCacheOnly, allowsExpiredToken)
    }
}

extension SilentParameters {
    /// Returns the claims that an API demands of the next token when it refuses a token, for ``claims``; `nil` if it
    /// demands no claims that can be passed on.
    ///
    /// For answers of 401 that the program reads itself; `AuthenticatedClient` of `IdentityResources` heeds challenges
    /// without being asked. Of several challenges the first Bearer or PoP one with the error `insufficient_claims` counts,
    /// whether its claims are in base64, in base64url or plain. They are the API's words: a JSON object of at most
    /// 16 KiB, not checked further.
    /// - Parameter fieldValues: The values of all `WWW-Authenticate` fields of the answer.
    /// - SeeAlso: [RFC 9110 §11.6.1](https://www.rfc-editor.org/rfc/rfc9110#section-11.6.1),
    ///   [Claims challenges](https://learn.microsoft.com/entra/identity-platform/claims-challenge)
    public static func claims(inChallenges fieldValues: [String]) -> String? {
        AuthenticationChallenge.parse(fieldValues).lazy.compactMap(\.claims).first
    }
}
