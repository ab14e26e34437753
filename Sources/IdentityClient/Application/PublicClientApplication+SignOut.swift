// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension PublicClientApplication {
    /// Signs an account out: first on this computer, as ``remove(_:)`` does, then, as `parameters` ask, at the provider.
    ///
    /// Once the account is removed, no failure brings it back or throws: the result describes the outcome of each part.
    /// Each request takes at most the configuration's request time-out, and the browser at most
    /// `SignOutParameters/timeout`. If the task is cancelled after the removal, the call ends at once. Tokens are still
    /// revoked as long as the process lives, but the browser is not opened.
    ///
    /// ```swift
    /// var parameters = SignOutParameters()
    /// parameters.revokesTokens = true
    /// parameters.endsBrowserSession = true
    /// let result = try await app.signOut(account, parameters: parameters)
    /// ```
    ///
    /// - Throws: `AuthenticationError.configuration` when a parameter is not acceptable, and `.cache` when the account
    ///   could not be removed; then the provider is not asked. If only records of the group's other programs or of
    ///   other B2C policies could not be read or removed, `.cache` is thrown after everything else is done.
    ///   `CancellationError`.
    /// - SeeAlso: [RFC 7009](https://www.rfc-editor.org/rfc/rfc7009),
    ///   [RP-Initiated Logout](https://openid.net/specs/openid-connect-rpinitiated-1_0.html)
    @discardableResult
    public func signOut(
        _ account: Account,
        parameters: SignOutParameters = SignOutParameters()
    ) async throws -> SignOutResult {
        let flow = SignOutFlow(environment: environment, context: environment.context(parameters.correlationID))
        return try await flow.run(account, parameters)
    }
}
