// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

extension PublicClientApplication {
    /// Signs a person in by the sign-in of another program of the same publisher, without a browser (Native SSO).
    ///
    /// The other program has another client identifier and the same `cacheGroup`, and has signed in with the scope
    /// ``Scope/deviceSSO``. Its ID token and its device secret are exchanged for tokens of this client, which are stored as
    /// after a sign-in.
    ///
    /// ```swift
    /// let accounts = try await app.allAccounts()    // those of all programs of the group
    /// let result = try await app.acquireToken(byDeviceSecretOf: accounts[0], scopes: ["notes.read"])
    /// ```
    ///
    /// The request is sent once, and takes at most the configuration's request time-out. The sign-in of the other program
    /// does not change.
    ///
    /// - Parameters:
    ///   - account: The account, from `allAccounts()`.
    ///   - scopes: The scopes of the access token; those of a sign-in are added.
    ///   - secretType: The provider's name for the type of the device secret. Okta's is
    ///     `urn:x-oath:params:oauth:token-type:device-secret`.
    ///   - audience: The provider's name for itself, if that is not its issuer.
    ///   - authority: The provider, if it is not the configuration's.
    ///   - correlationID: An identifier for the request; `nil` for a new one.
    /// - Throws: `AuthenticationError.interactionRequired` when no program of the group has such a sign-in, or the provider
    ///   no longer accepts it: sign in interactively; `.unsupported` when the provider does not exchange tokens;
    ///   `.clientNotRegistered` when this client may not; `.accountMismatch` when the answer is about another person; and
    ///   otherwise as `acquireTokenInteractively(_:)` once the browser has returned.
    /// - SeeAlso: [OpenID Connect Native SSO](https://openid.net/specs/openid-connect-native-sso-1_0.html)
    public func acquireToken(
        byDeviceSecretOf account: Account,
        scopes: Set<Scope>,
        secretType: SecurityToken.TypeIdentifier = .deviceSecret,
        audience: String? = nil,
        authority: Authority? = nil,
        correlationID: UUID? = nil
    ) async throws -> AuthenticationResult {
        let flow = DeviceSecretSignIn(
            environment: environment,
            context: environment.context(correlationID),
            authority: authority,
            scopes: scopes,
            secretType: secretType,
            audience: audience
        )
        return try await flow.run(account)
    }
}
