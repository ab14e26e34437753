// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import IdentityTelemetry
import OAuthWire

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
    ///   account's, and errors of the family `.invalidResponse` when the answer is not believed, which is then not stored;
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
        let context = environment.context(correlationID)
        let flow = ExtensionGrantFlow(
            environment: environment,
            context: context,
            authority: authority,
            wanted: account,
            scopes: scopes
        )
        return try await environment.observing(.acquireWithGrant, context, about: account) {
            try await flow.run(grantType, parameters)
        }
    }
}

extension PublicClientApplication {
    /// Takes a person's sign-in over from another library, by the refresh token that the library has stored.
    ///
    /// For a program that changes from another library, NXOAuth2 or ADAL for example, to this one: call it once, with the
    /// same client ID, and delete the old token when the call has returned. The refresh token is redeemed at once. So it is
    /// known to be good, the provider says whose it is, and the account is stored as after a sign-in.
    ///
    /// ```swift
    /// let result = try await application.acquireToken(byRefreshToken: old, scopes: ["User.Read"])
    /// ```
    ///
    /// If the call throws, nothing is stored here and nothing is revoked, so that the other library's token stays as good
    /// as it was; only a provider that gives a new refresh token for each may have replaced it if its answer was lost or
    /// not believed. The cache is asked before, whether it can be written, and the provider's documents are fetched.
    ///
    /// - Parameters:
    ///   - refreshToken: The token alone. It was issued to this client.
    ///   - scopes: The scopes of the access token. At other providers than Microsoft it has those that were granted with
    ///     the refresh token, and at least one of these must be among them.
    ///   - authority: The provider, if it is not the configuration's: a tenant, for example.
    ///   - correlationID: An identifier for the request; `nil` for a new one.
    /// - Throws: `AuthenticationError.Code.signInExpired` and other codes of `.interactionRequired` when the provider
    ///   refuses the token: sign in interactively; `.clientNotRegistered` when the token belongs to another client;
    ///   `.scopesDeclined` when the account is stored, but none of the scopes was granted; `.unsupported` when the provider
    ///   does not say whose the token is, or the configuration's ``ClientConfiguration/dpop`` is `.required`, with which nothing
    ///   is sent: such a token is bound to another key or to none; `.cache` when nothing can be stored;
    ///   `.invalidArgument`, `.network`, `.serverUnavailable`; `CancellationError`.
    /// - SeeAlso: [RFC 6749 §6](https://www.rfc-editor.org/rfc/rfc6749#section-6)
    public func acquireToken(
        byRefreshToken refreshToken: String,
        scopes: Set<Scope> = [],
        authority: Authority? = nil,
        correlationID: UUID? = nil
    ) async throws -> AuthenticationResult {
        let context = environment.context(correlationID)
        let flow = RefreshTokenImport(environment: environment, context: context, authority: authority, scopes: scopes)
        return try await environment.observing(.acquireByRefreshToken, context) { try await flow.run(refreshToken) }
    }

    /// Copies the client's accounts at this provider from another cache. An account that is signed in already stays as
    /// it is, and `source` is not changed.
    ///
    /// - Returns: The accounts that `source` has, and whether each is new here.
    /// - Throws: `AuthenticationError` of the family `.cache` when one of the caches cannot be used; `CancellationError`.
    package func importAccounts(from source: any TokenCache) async throws -> [(account: Account, isNew: Bool)] {
        let store = environment.store
        let other = CredentialStore(cache: source, group: store.group, clientID: store.clientID)
        var accounts: [(account: Account, isNew: Bool)] = []
        for snapshot in try await other.allSnapshots().snapshots.values {
            var credentials = snapshot.credentials
            guard environment.clouds.contain(partition: credentials.partition),
                credentials.clientID == store.clientID
            else { continue }
            credentials.signInID = SecureRandom.token(bytes: 16)
            let id = RecordID(partition: credentials.partition, accountID: credentials.accountID.rawValue)
            let stored = try await store.update(id) { $0 ?? credentials }
            accounts.append((snapshot.account, stored?.credentials.signInID == credentials.signInID))
        }
        return accounts.sorted { ($0.account.username ?? "") < ($1.account.username ?? "") }
    }
}

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
    /// - Throws: `AuthenticationError` of the family `.interactionRequired` when no program of the group has such a sign-in, or the provider
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
        let context = environment.context(correlationID)
        let flow = DeviceSecretSignIn(
            environment: environment,
            context: context,
            authority: authority,
            scopes: scopes,
            secretType: secretType,
            audience: audience
        )
        return try await environment.observing(.acquireByDeviceSecret, context, about: account) {
            try await flow.run(account)
        }
    }
}

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
    ///   issues another kind of token than requested; `.invalidTarget` when it issues none for the audience or the resource,
    ///   `.invalidScope` for a scope; `.clientNotRegistered` when the client may not exchange tokens; `.blockedByPolicy`; `.configuration` when it
    ///   refuses a given token, or the request for another reason; `.loginRequired` when it refuses an account's token;
    ///   `.invalidArgument` when a parameter is not acceptable; errors of the family `.invalidResponse` when the answer is
    ///   not believed; `.network`, `.serverUnavailable`; `CancellationError`.
    /// - SeeAlso: [RFC 8693](https://www.rfc-editor.org/rfc/rfc8693)
    public func exchangeToken(_ parameters: TokenExchangeParameters) async throws -> TokenExchangeResult {
        let context = environment.context(parameters.correlationID)
        let flow = TokenExchangeFlow(refresher: refresher, context: context, parameters: parameters)
        return try await environment.observing(.exchangeToken, context, about: parameters.subject.account) {
            try await flow.run()
        }
    }
}
