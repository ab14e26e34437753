// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension PublicClientApplication {
    /// An access token without asking the person: from the cache, or by refreshing.
    ///
    /// A token from the cache costs one lookup and no network. A refresh is shared by all callers of this process and
    /// waits for one that another process began; cancelling the caller does not end it. Where a good token is merely due
    /// for renewal and that fails, for being offline or any other reason, the good one is returned.
    ///
    /// - Throws: `AuthenticationError.interactionRequired` when, and only when, a person is needed: nobody is signed in, or
    ///   the server says so. `.network` and `.serverUnavailable` when the server could not be asked, `.cache` when tokens
    ///   could not be read, `.invalidResponse` when the answer was not believed, `.configuration` when something has to be
    ///   set right; `CancellationError` when the task was cancelled.
    public func acquireTokenSilently(_ parameters: SilentParameters) async throws -> AuthenticationResult {
        try await SilentFlow(environment: environment).run(parameters)
    }

    /// An access token for `account` without asking the person, with everything else left at its default.
    ///
    /// - Throws: As ``acquireTokenSilently(_:)``.
    public func acquireTokenSilently(scopes: Set<Scope>, account: Account) async throws -> AuthenticationResult {
        try await acquireTokenSilently(SilentParameters(scopes: scopes, account: account))
    }
}
