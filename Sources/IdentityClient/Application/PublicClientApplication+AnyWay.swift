// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension PublicClientApplication {
    /// An access token, without asking anyone where that can be had, and else through the browser: what most programs want at
    /// a moment at which the person expects to sign in.
    ///
    /// ```swift
    /// let result = try await app.acquireToken(scopes: ["email"])
    /// ```
    ///
    /// The browser opens only where a person is needed, with what the provider demands of the new sign-in. Being offline, for
    /// example, is an error, and opens none. A program that is to say something before the browser opens calls
    /// ``acquireTokenSilently(scopes:account:)`` and ``acquireTokenInteractively(_:)`` itself.
    ///
    /// - Parameters:
    ///   - scopes: What the token is for.
    ///   - account: Whose token. `nil`, the default, means the current account (``currentAccount()``); where several are
    ///     signed in and none of them was chosen, the person chooses on the sign-in page.
    /// - Throws: As ``acquireTokenSilently(scopes:account:)``, but for `.interactionRequired`, and as
    ///   ``acquireTokenInteractively(_:)``. Cancellation ends both.
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
