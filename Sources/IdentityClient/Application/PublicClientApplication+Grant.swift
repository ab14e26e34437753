// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

extension PublicClientApplication {
    /// Signs in with a grant of the program's choice, without a page: with an assertion that another system has issued about
    /// the person (RFC 7523, RFC 7522), or with one of the provider's own grants.
    ///
    /// ```swift
    /// let result = try await app.acquireToken(
    ///     grantType: "urn:ietf:params:oauth:grant-type:jwt-bearer",
    ///     parameters: ["assertion": assertion],
    ///     scopes: ["api.read"]
    /// )
    /// ```
    ///
    /// The request is sent once, and takes at most the configuration's request time-out. Its answer passes the checks of a
    /// sign-in's, and is stored like one: ``acquireTokenSilently(scopes:account:)`` then gives tokens, for as long as
    /// they are valid, and longer if the provider gave a refresh token. An OpenID Connect provider has to say in an ID
    /// token who the person is. At a plain OAuth 2.0 server (`Authority.oauth2(_:)`) each call makes an account of its own,
    /// unless it names one.
    ///
    /// The grants that have calls of their own are refused (`.invalidArgument`), as are `password`, which RFC 9700 §2.4
    /// forbids, and `client_credentials`, which is not about a person. So is a parameter that the library sets itself. The
    /// values are secrets: they appear in no log, capture or error.
    ///
    /// - Parameters:
    ///   - grantType: The value of `grant_type`: a URI, or the provider's word.
    ///   - parameters: The parameters of the grant, such as `assertion`: at most 50, each value of at most 64 KiB.
    ///   - scopes: The scopes of the access token.
    ///   - account: The account that the tokens must be about; `nil` if any will do.
    ///   - authority: The provider, if it is not the configuration's: a tenant, for example.
    ///   - correlationID: An identifier for the request; `nil` for a new one.
    /// - Throws: `AuthenticationError.Code.unsupported` when the provider does not have the grant, or does not say who the
    ///   person is; `.configuration` when it refuses the parameters, for example an assertion that has expired;
    ///   `.clientNotRegistered` when the client may not use the grant; `.accountMismatch` when the tokens are another
    ///   account's, and `.invalidResponse` and its second levels when the answer is not believed, which is then not stored;
    ///   `.interactionRequired` when the provider needs the person; `.scopesDeclined`, `.invalidScope`,
    ///   `.invalidArgument`, `.network`, `.serverUnavailable`; `CancellationError`.
    /// - SeeAlso: [RFC 6749 §4.5](https://www.rfc-editor.org/rfc/rfc6749#section-4.5)
    public func acquireToken(
        grantType: String,
        parameters: [String: String],
        scopes: Set<Scope>,
        account: Account? = nil,
        authority: Authority? = nil,
        correlationID: UUID? = nil
    ) async throws -> AuthenticationResult {
        let flow = ExtensionGrantFlow(
            environment: environment,
            context: environment.context(correlationID),
            authority: authority,
            wanted: account,
            scopes: scopes
        )
        return try await flow.run(grantType, parameters)
    }
}
