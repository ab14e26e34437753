// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension PublicClientApplication {
    /// Acquires an access token, silently if possible and otherwise through the browser. Most programs call this at a
    /// moment when the person expects to sign in.
    ///
    /// ```swift
    /// let result = try await app.acquireToken(scopes: ["email"])
    /// ```
    ///
    /// The browser opens only if a person is needed, with the provider's requirements for the new sign-in. Other
    /// failures, such as being offline, are errors and do not open the browser. To show something before the browser
    /// opens, call ``acquireTokenSilently(scopes:account:)`` and ``acquireTokenInteractively(_:)`` instead.
    ///
    /// - Parameters:
    ///   - scopes: The scopes of the requested token.
    ///   - account: The account. `nil`, the default, means the current account (``currentAccount()``). If several
    ///     accounts are signed in and none was chosen, the person chooses on the sign-in page.
    /// - Throws: The errors of ``acquireTokenSilently(scopes:account:)`` except `.interactionRequired`, and the errors
    ///   of ``acquireTokenInteractively(_:)``. Cancellation ends both.
    public func acquireToken(scopes: Set<Scope>, account: Account? = nil) async throws -> AuthenticationResult {
        var parameters = InteractiveParameters(scopes: scopes)
        do {
            parameters.account = if let account { account } else { try await currentAccount().current }
            if let account = parameters.account {
                return try await acquireTokenSilently(scopes: scopes, account: account)
            }
        } catch let error as AuthenticationError where .accountSelectionRequired ~= error.code && account == nil {
            parameters.account = nil
            parameters.prompt = .selectAccount
        } catch let error as AuthenticationError where .interactionRequired ~= error.code {
            parameters.claims = error.claims
        }
        return try await acquireTokenInteractively(parameters)
    }
}
