// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension PublicClientApplication {
    /// Returns what the provider says about an account's access token: whether it is still good, and what for.
    ///
    /// The token is the one that ``acquireTokenSilently(scopes:account:)`` would give, from the cache or a refresh. It is not
    /// renewed if the provider calls it inactive: acquire another one with `SilentParameters.forcesRefresh`. Each call asks
    /// the provider, and nothing is stored.
    ///
    /// RFC 7662 §2.1 demands that the provider authorizes the caller, so many providers answer only clients with a secret,
    /// or only APIs. The ID token and ``AuthenticationResult/scopes`` need no such request.
    ///
    /// ```swift
    /// let told = try await app.introspectToken(of: account, scopes: ["api.read"])
    /// ```
    ///
    /// - Parameters:
    ///   - account: The account, from a result or from `allAccounts()`.
    ///   - scopes: The scopes of the access token.
    ///   - authority: Another authority of the same kind and cloud, such as a tenant; `nil` means the configured authority.
    /// - Throws: The errors of ``acquireTokenSilently(_:)``; `.unsupported` when the provider publishes no endpoint;
    ///   `.clientNotRegistered` when it does not tell this client; `.invalidResponse` and its second levels when the answer
    ///   cannot be read, among them `.untrustedAuthority`; `CancellationError`.
    /// - SeeAlso: [RFC 7662](https://www.rfc-editor.org/rfc/rfc7662)
    public func introspectToken(
        of account: Account,
        scopes: Set<Scope>,
        authority: Authority? = nil
    ) async throws -> TokenIntrospection {
        try await IntrospectionFlow(refresher: refresher, context: environment.context(nil))
            .run(account, scopes: scopes, authority: authority)
    }
}
