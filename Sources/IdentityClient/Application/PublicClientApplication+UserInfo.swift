// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension PublicClientApplication {
    /// Returns the claims that the provider's UserInfo endpoint has about an account.
    ///
    /// Each call asks the provider; nothing is cached or stored. Entra ID's ID token already has every claim of its
    /// endpoint. The access token comes from the cache or a refresh, and is renewed once if the endpoint refuses it. The
    /// answer is JSON, or a JWT with a signature like an ID token's, and is used only if it is about the person of the ID
    /// token (`sub`). It has at most 1 MiB, and each request takes at most the configuration's request time-out.
    ///
    /// ```swift
    /// let claims = try await app.userInfo(for: account)
    /// show(claims.name ?? account.displayName)
    /// ```
    ///
    /// - Parameters:
    ///   - account: The account, from a result or from `allAccounts()`.
    ///   - scopes: The scopes of the access token that is sent. `nil`, the default, means a token in the cache that was
    ///     granted `openid`, otherwise a token without an API's scope.
    ///   - authority: Another authority of the same kind and cloud, such as a tenant or a B2C policy; `nil` means the
    ///     configured authority.
    /// - Throws: The errors of ``acquireTokenSilently(_:)``; `.subjectMismatch` when the answer is about another person;
    ///   `.invalidResponse` and its second levels when it is not believed or cannot be read, among them
    ///   `.unexpectedRedirect`, `.responseTooLarge` and `.untrustedAuthority`; `.unsupported` when the provider publishes no
    ///   endpoint or encrypts the answer; `.interactionRequired` when the endpoint refuses a new token or demands more of
    ///   the sign-in; `CancellationError`.
    /// - SeeAlso: [OpenID Connect Core §5.3](https://openid.net/specs/openid-connect-core-1_0.html#UserInfo)
    public func userInfo(
        for account: Account,
        scopes: Set<Scope>? = nil,
        authority: Authority? = nil
    ) async throws -> IdentityClaims {
        try await UserInfoFlow(refresher: refresher, context: environment.context(nil))
            .run(account, scopes: scopes, authority: authority)
    }
}
