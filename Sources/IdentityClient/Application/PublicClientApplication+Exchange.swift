// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension PublicClientApplication {
    /// Exchanges a token for another one, at the provider's token endpoint (RFC 8693): for a service that takes other tokens
    /// than the program's own, for example.
    ///
    /// ```swift
    /// var parameters = TokenExchangeParameters(.accessToken(of: account, scopes: ["api.read"]))
    /// parameters.audiences = ["billing"]
    /// let billing = try await app.exchangeToken(parameters)
    /// ```
    ///
    /// A token of an account comes from the cache or a refresh, as in ``acquireTokenSilently(_:)``, and is renewed once if
    /// the provider refuses one from the cache. The exchange itself is one request, which is not repeated when its answer
    /// is lost. Nothing of the answer is stored: keep the result until its `expiresOn`. Each request takes at most the
    /// configuration's request time-out.
    ///
    /// Not every provider exchanges tokens, and some do it only for clients with a secret. If the published configuration
    /// lists its grants without this one, nothing is sent.
    ///
    /// - Throws: The errors of ``acquireTokenSilently(_:)``; `.unsupported` when the provider does not exchange tokens, or
    ///   issues another kind of token than requested; `.invalidScope` when it issues none for the audience, the resource or
    ///   a scope; `.clientNotRegistered` when the client may not exchange tokens; `.blockedByPolicy`; `.configuration` when it
    ///   refuses a given token, or the request for another reason; `.loginRequired` when it refuses an account's token;
    ///   `.invalidArgument` when a parameter is not acceptable; `.invalidResponse` and its second levels when the answer is
    ///   not believed; `.network`, `.serverUnavailable`; `CancellationError`.
    /// - SeeAlso: [RFC 8693](https://www.rfc-editor.org/rfc/rfc8693)
    public func exchangeToken(_ parameters: TokenExchangeParameters) async throws -> TokenExchangeResult {
        try await TokenExchangeFlow(
            refresher: refresher,
            context: environment.context(parameters.correlationID),
            parameters: parameters
        )
        .run()
    }
}
