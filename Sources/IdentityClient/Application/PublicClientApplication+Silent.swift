// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityTelemetry

extension PublicClientApplication {
    /// Acquires an access token without asking the person: from the cache, or by a refresh.
    ///
    /// A token from the cache costs one lookup and no network. All callers in this process share a refresh, and it
    /// waits for a refresh that another process began; cancelling a caller does not end it. If the cached token is
    /// still valid but due for renewal, and the renewal fails because the network is down or for any other reason, the
    /// cached token is returned.
    ///
    /// - Throws: `AuthenticationError.interactionRequired` when, and only when, a person is needed: the account is not
    ///   signed in, or the server requires a sign-in. `.network` and `.serverUnavailable` when the server could not be
    ///   asked, `.cache` when tokens could not be read, `.invalidResponse` when the answer failed a check,
    ///   `.configuration` when the program, its registration or the provider's policy must be changed;
    ///   `CancellationError` when the task was cancelled.
    public func acquireTokenSilently(_ parameters: SilentParameters) async throws -> AuthenticationResult {
        guard environment.isMoreThanAHit || !parameters.scheme.isBearer else {
            return try await SilentFlow(refresher: refresher).run(parameters)
        }
        return try await acquirePrepared(parameters)
    }

    /// Acquires a token that is bound to a key, is measured or may be of another cloud. Apart, because its frame would cost
    /// each hit more.
    @inline(never)
    private func acquirePrepared(_ parameters: SilentParameters) async throws -> AuthenticationResult {
        var parameters = parameters
        if environment.clouds.areSeveral {
            parameters.authority = try environment.clouds.authority(parameters.authority, of: parameters.account)
        }
        let authority = parameters.authority ?? environment.configuration.authority
        let proof = try await environment.proof(parameters.scheme, at: authority)
        parameters.binding = proof?.binding
        let bound = parameters
        return try await environment.configuration.telemetry.observe(
            .acquireSilently,
            correlationID: bound.correlationID?.uuidString.lowercased(),
            completion: Completion.of
        ) { try await SilentFlow(refresher: refresher).run(bound).proven(by: proof) }
    }

    /// Acquires an access token for `account` without asking the person, with defaults for everything else.
    ///
    /// - Throws: The errors of ``acquireTokenSilently(_:)``.
    public func acquireTokenSilently(scopes: Set<Scope>, account: Account) async throws -> AuthenticationResult {
        try await acquireTokenSilently(SilentParameters(scopes: scopes, account: account))
    }

    /// Returns the access tokens of a program that runs for long: the token of now, and a new one before each ends.
    ///
    /// Nothing is acquired before the first element is awaited. `forcesRefresh` and `claims` apply to the first token, and
    /// `allowsExpiredToken` to none; with `usesCacheOnly` the first element throws `.invalidArgument`.
    public func liveTokens(_ parameters: SilentParameters) -> LiveTokens {
        LiveTokens(application: self, parameters: parameters, draw: RenewalSchedule.draw(for:))
    }

    /// Acquires an access token without asking the person, for the signed-in account that a login hint names.
    ///
    /// - Throws: The errors of ``account(matching:)`` and ``acquireTokenSilently(_:)``.
    public func acquireTokenSilently(scopes: Set<Scope>, loginHint: String) async throws -> AuthenticationResult {
        try await acquireTokenSilently(scopes: scopes, account: try await account(matching: loginHint))
    }
}
