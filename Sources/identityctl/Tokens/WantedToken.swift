// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient

/// The token that the options describe.
struct WantedToken: Sendable {
    let scopes: Set<Scope>
    var claims: String?
    var forcesRefresh: Bool
    /// The access token that an API refused, in place of which another one is wanted.
    var refusedToken: String?
    var usesCacheOnly: Bool
    var allowsExpiredToken: Bool
    var minimumValidity: Duration
    var isIDToken: Bool
    /// The time for the provider's answer; `nil` if the caller sets it.
    var timeout: Duration?
    var scheme = AuthenticationScheme.bearer
    /// Whether the caller proves the key of a bound token with each request. No other caller gets such a token.
    var provesKey = false
    /// The account's id or username; `nil` for the only account, or the default of several.
    var account: Given?
    /// The account itself, once a caller has chosen it.
    var signedIn: Account?
    /// The name in the address that a program asks for. The token of another account is none.
    var person: String?

    /// - Parameter minimumValidity: That of the token if nothing names another one.
    /// - Throws: `UsageError`.
    init(
        _ token: TokenOptions,
        _ account: AccountOption,
        _ silent: SilentOptions,
        _ environment: Variables,
        minimumValidity usual: Duration = .zero
    ) throws {
        scopes = try token.scopes(environment)
        claims = try token.claims(environment)
        forcesRefresh = try environment.isOn("force-refresh", silent.forceRefresh)
        usesCacheOnly = try environment.isOn("cache-only", silent.cacheOnly)
        allowsExpiredToken = try environment.isOn("allow-expired", silent.allowExpired)
        minimumValidity = try environment.given("min-validity", silent.minValidity)?.seconds(from: 0) ?? usual
        isIDToken = try environment.isOn("id-token", silent.idToken)
        timeout = try silent.wait()
        self.account = try environment.given("account", account.account)
    }

    /// The token for a request of an API's client, which sets the time and proves the key of a bound token.
    init(_ parameters: SilentParameters) {
        scopes = parameters.scopes
        claims = parameters.claims
        forcesRefresh = parameters.forcesRefresh
        refusedToken = parameters.refusedToken
        usesCacheOnly = parameters.usesCacheOnly
        allowsExpiredToken = parameters.allowsExpiredToken
        minimumValidity = parameters.minimumValidity
        isIDToken = false
        timeout = parameters.timeout
        scheme = parameters.scheme
        provesKey = true
        signedIn = parameters.account
    }

    /// Returns what the library is asked for.
    func parameters(for account: Account) -> SilentParameters {
        var parameters = SilentParameters(
            scopes: scopes,
            account: account,
            claims: claims,
            forcesRefresh: forcesRefresh,
            minimumValidity: minimumValidity,
            usesCacheOnly: usesCacheOnly,
            allowsExpiredToken: allowsExpiredToken,
            timeout: timeout
        )
        parameters.scheme = scheme
        parameters.refusedToken = refusedToken
        return parameters
    }
}
