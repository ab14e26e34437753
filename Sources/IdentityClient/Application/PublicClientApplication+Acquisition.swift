// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import IdentityTelemetry

extension PublicClientApplication {
    /// Acquires an access token without asking the person: from the cache, or by a refresh.
    ///
    /// A token from the cache costs one lookup and no network. All callers in this process share a refresh, and it
    /// waits for a refresh that another process began; cancelling a caller does not end it. If the cached token is
    /// still valid but due for renewal, and the renewal fails because the network is down or for any other reason, the
    /// cached token is returned.
    ///
    /// - Throws: `AuthenticationError` of the family `.interactionRequired` when, and only when, a person is needed: the account is not
    ///   signed in, or the server requires a sign-in. `.network` and `.serverUnavailable` when the server could not be
    ///   asked, `.cache` when tokens could not be read, `.invalidResponse` when the answer failed a check,
    ///   `.configuration` when the program, its registration or the provider's policy must be changed;
    ///   `CancellationError` when the task was cancelled.
    public func acquireTokenSilently(_ parameters: SilentParameters) async throws -> AuthenticationResult {
        guard environment.isMoreThanAHit || !parameters.scheme.isBearer else {
            return try await SilentFlow(refresher: refresher).run(parameters)
        }
        return try await environment.telling(parameters.account) { try await acquirePrepared(parameters) }
    }

    /// Acquires a token that is bound to a key, is measured, may be of another cloud or goes to this computer in the clear. Apart,
    /// because its frame would cost each hit more.
    @inline(never)
    private func acquirePrepared(_ parameters: SilentParameters) async throws -> AuthenticationResult {
        try await environment.configuration.telemetry.observe(
            .acquireSilently,
            correlationID: parameters.correlationID?.uuidString.lowercased(),
            completion: Completion.of
        ) {
            var parameters = parameters
            if environment.clouds.areSeveral || parameters.authority != nil {
                parameters.authority = try environment.clouds.authority(parameters.authority, of: parameters.account)
            }
            let authority = parameters.authority ?? environment.configuration.authority
            if let resource = environment.localResource {
                let id = RecordID(authority: authority, account: parameters.account.id)
                try await environment.store.snapshot(for: id)?.credentials.localServers.check(resource)
            }
            return try await SilentFlow(refresher: refresher).runProven(parameters, at: authority)
        }
    }

    /// Returns an access token of the cache that is good for long enough and not to be renewed yet, otherwise `nil`. Starts
    /// nothing.
    package func cachedToken(scopes: Set<Scope>, account: Account, minimumValidity: Duration) async throws
        -> AuthenticationResult?
    {
        guard !environment.isMoreThanAHit, configuration.broker.broker == nil,
            let snapshot = try await environment.store.snapshot(for: recordID(of: account.id))
        else { return nil }
        let parameters = SilentParameters(scopes: scopes, account: account, minimumValidity: minimumValidity)
        let need = SilentFlow(refresher: refresher).need(parameters, try parameters.validitySeconds)
        guard case .valid(let token) = snapshot.selection(for: need, at: environment.clock.unixSeconds) else {
            return nil
        }
        let acquired = AcquiredToken(snapshot: snapshot, token: token, source: .cache)
        return AuthenticationResult(acquired, requested: scopes, rule: environment.scopeRule)
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

extension PublicClientApplication {
    /// Signs a person in through the system's browser.
    ///
    /// Listens on the loopback interface, opens the browser, and waits until the person has finished, at most
    /// `InteractiveParameters/timeout`. The library cannot notice that the person closed the tab. Offer a way to cancel
    /// the task, which frees the port within 100 ms, and let a new sign-in supersede the previous sign-in.
    ///
    /// - Throws: `AuthenticationError` of the family errors of the family `.userCancelled` when the sign-in was not finished;
    ///   `.interactionUnavailable` when it could not be shown; `.interactionRequired` when the provider refuses, or
    ///   another account signed in, and another sign-in may help; `.scopesDeclined`, `.network`, `.serverUnavailable`,
    ///   `.invalidResponse`, `.configuration`; `CancellationError` when the task was cancelled. A cache that cannot be
    ///   written does not fail the sign-in, see `AuthenticationResult/persistence`. If
    ///   ``InteractiveParameters/requiresPersistence`` is set, it does, with `.cache`, before the browser opens.
    /// - SeeAlso: [RFC 8252](https://www.rfc-editor.org/rfc/rfc8252)
    public func acquireTokenInteractively(_ parameters: InteractiveParameters) async throws -> AuthenticationResult {
        try await signIn(parameters)
    }

    /// - Parameter silently: Acquires the token without a person, once another sign-in has ended for which this one waited.
    private func signIn(
        _ parameters: InteractiveParameters,
        afterAnother silently: (@Sendable () async throws -> AuthenticationResult?)? = nil
    ) async throws -> AuthenticationResult {
        guard parameters.timeout > .zero, parameters.timeout <= .seconds(86_400) else {
            throw AuthenticationError(.invalidArgument, "The sign-in's time-out must be above 0 and at most a day.")
        }
        let context = environment.context(parameters.correlationID)
        let flow = InteractiveFlow(environment: environment, context: context)
        return try await environment.observing(.acquireInteractively, context, about: parameters.account) {
            try await gate.run(parameters.whenPending, afterAnother: silently) { try await flow.run(parameters) }
        }
    }

    /// Signs a person in through the system's browser, with defaults for everything except the scopes.
    ///
    /// - Throws: The errors of ``acquireTokenInteractively(_:)``.
    public func acquireTokenInteractively(scopes: Set<Scope>) async throws -> AuthenticationResult {
        try await acquireTokenInteractively(InteractiveParameters(scopes: scopes))
    }

    /// Prepares a sign-in for a program that shows the page itself, or shows the address to a person elsewhere.
    ///
    /// The library does not listen. The program takes the address that the provider redirects to, from its own web
    /// view, from a scheme handler or from the person who copies it, and passes it to
    /// ``completeAuthorization(_:with:)``. Every check applies as usual. The answer comes in the query unless
    /// `parameters` set another response mode. If the request is pushed, the address works for about a minute: see
    /// ``AuthorizationRequest/expiresOn``.
    ///
    /// - Throws: The errors of ``acquireTokenInteractively(_:)`` that occur before the browser opens.
    public func prepareAuthorization(_ parameters: InteractiveParameters) async throws -> AuthorizationRequest {
        var parameters = parameters
        parameters.responseMode = parameters.responseMode ?? .query
        return try await environment.telling(parameters.account) {
            let preparation = try await AuthorizationPreparation(
                environment: environment,
                parameters: parameters,
                context: environment.context(parameters.correlationID)
            )
            return try await preparation.request(redirectURI: preparation.redirectURI.addressWithoutListener())
        }
    }

    /// Completes a prepared sign-in, with the address that the provider redirected to.
    ///
    /// An address that does not answer `request` leaves the request open for the right address.
    ///
    /// - Parameters:
    ///   - request: The result of ``prepareAuthorization(_:)``. It accepts one answer.
    ///   - redirectURL: The whole address, with its query; for a form post, the form's items as the query.
    /// - Throws: `AuthenticationError.Code.stateMismatch` when the address answers another request; otherwise the
    ///   errors of ``acquireTokenInteractively(_:)``.
    public func completeAuthorization(
        _ request: AuthorizationRequest,
        with redirectURL: URL
    ) async throws -> AuthenticationResult {
        let context = environment.context(request.correlationID)
        return try await environment.observing(.completeAuthorization, context, about: request.parameters.account) {
            try await complete(request, with: redirectURL, context)
        }
    }

    /// Restores a prepared sign-in that ``AuthorizationRequest/serialized()`` kept, in another process or after a restart.
    ///
    /// The provider's endpoints are found anew, and the cache is checked as when the request was prepared; nothing in
    /// `data` says where the code is sent. ``completeAuthorization(_:with:)`` then makes every check of a sign-in. The
    /// program removes the data when the sign-in is completed or given up. Until then the data could be restored once more;
    /// the provider refuses a code that it has seen.
    ///
    /// - Parameters:
    ///   - data: The result of ``AuthorizationRequest/serialized()``.
    ///   - authority: ``InteractiveParameters/authority`` of the prepared request, if it named one.
    /// - Throws: `.interactionTimedOut` when the time of the sign-in (``InteractiveParameters/timeout``) is up;
    ///   `.configuration` when it was prepared for another client or authority; `.unsupported` when another version of this
    ///   library wrote it; `.invalidArgument` when the data is damaged; `.invalidResponse` when the provider has changed its
    ///   name since; the errors of ``prepareAuthorization(_:)`` about the provider and the cache.
    public func restoreAuthorization(
        _ data: [UInt8],
        authority: Authority? = nil
    ) async throws -> AuthorizationRequest {
        try await environment.telling(nil) {
            try await AuthorizationRestoration(environment: environment).request(from: data, named: authority)
        }
    }

    private func complete(
        _ request: AuthorizationRequest,
        with redirectURL: URL,
        _ context: RequestContext
    ) async throws -> AuthenticationResult {
        let flow = AuthorizationCodeFlow(environment: environment, context: context)
        let redirect = redirectURL.absoluteString
        // The address that was opened, pasted back, has the state as well.
        guard redirect != request.url.absoluteString, let response = try flow.response(in: redirect, to: request) else {
            throw AuthenticationError(
                .stateMismatch,
                "This address is not the answer to this sign-in. Copy the whole address that the browser ended at.",
                correlationID: request.correlationID
            )
        }
        return try await flow.finish(response, to: request)
    }
}

extension PublicClientApplication {
    /// Acquires an access token, silently if possible and otherwise through the browser. Most programs call this at a
    /// moment when the person expects to sign in.
    ///
    /// ```swift
    /// let result = try await app.acquireTokenSilentlyOrInteractively(scopes: ["email"])
    /// ```
    ///
    /// The browser opens only if a person is needed, with the provider's requirements for the new sign-in. Callers that need
    /// a person at the same time share one sign-in: each tries silently once more when the one before it has ended. Other
    /// failures, such as being offline, are errors and do not open the browser. To show something before the browser
    /// opens, call ``acquireTokenSilently(scopes:account:)`` and ``acquireTokenInteractively(_:)`` instead.
    ///
    /// - Parameters:
    ///   - scopes: The scopes of the requested token.
    ///   - account: The account. `nil`, the default, means the current account (``currentAccount()``). If several
    ///     accounts are signed in and none was chosen, the person chooses on the sign-in page.
    /// - Throws: The errors of ``acquireTokenSilently(scopes:account:)`` except `.interactionRequired`, and the errors
    ///   of ``acquireTokenInteractively(_:)``. Cancellation ends both.
    public func acquireTokenSilentlyOrInteractively(scopes: Set<Scope>, account: Account? = nil) async throws
        -> AuthenticationResult
    {
        switch try await silently(scopes, account) {
        case .acquired(let result): return result
        case .needsPerson(let parameters):
            return try await signIn(parameters) {
                guard case .acquired(let result) = try await self.silently(scopes, account) else { return nil }
                return result
            }
        }
    }

    /// The result of a silent attempt.
    private enum SilentAttempt {
        case acquired(AuthenticationResult)
        /// With the parameters of the sign-in that is required.
        case needsPerson(InteractiveParameters)
    }

    private func silently(_ scopes: Set<Scope>, _ account: Account?) async throws -> SilentAttempt {
        var parameters = InteractiveParameters(scopes: scopes)
        do {
            parameters.account = if let account { account } else { try await currentAccount().current }
            if let account = parameters.account {
                return .acquired(try await acquirePrepared(SilentParameters(scopes: scopes, account: account)))
            }
        } catch let error as AuthenticationError where .accountSelectionRequired ~= error.code && account == nil {
            parameters.account = nil
            parameters.prompt = .selectAccount
        } catch let error as AuthenticationError where .interactionRequired ~= error.code {
            parameters.claims = error.claims
        }
        return .needsPerson(parameters)
    }
}

extension PublicClientApplication {
    /// Signs a person in on another device, for programs without a browser: the person opens an address there and types
    /// a code.
    ///
    /// Polls the provider as often as it allows until the person has finished or refused, or the code has expired. A
    /// provider that cannot be reached meanwhile is polled less often, and does not end the sign-in before the code
    /// expires. Cancel the task to give up.
    ///
    /// ```swift
    /// let result = try await app.acquireTokenWithDeviceCode(DeviceCodeParameters(scopes: scopes)) { prompt in
    ///     show(prompt.message)
    /// }
    /// ```
    ///
    /// The code signs in any person who enters it, wherever this program runs: show it only to the person in front of
    /// it.
    ///
    /// - Parameters:
    ///   - parameters: The scopes and options of the sign-in.
    ///   - prompt: Called once, with the instructions to show to the person. The provider is asked for the answer once it has
    ///     returned: do not wait in it for the person.
    /// - Throws: `AuthenticationError.Code.interactionTimedOut` when the code expired, `.accessDenied` when the person
    ///   refused, `.unsupported` when the provider does not offer the device flow; otherwise the errors of
    ///   ``acquireTokenInteractively(_:)``.
    /// - SeeAlso: [RFC 8628](https://www.rfc-editor.org/rfc/rfc8628)
    public func acquireTokenWithDeviceCode(
        _ parameters: DeviceCodeParameters,
        prompt: @Sendable (DeviceCodePrompt) async -> Void
    ) async throws -> AuthenticationResult {
        let context = environment.context(parameters.correlationID)
        let flow = DeviceAuthorizationFlow(environment: environment, context: context, parameters: parameters)
        return try await environment.observing(.acquireWithDeviceCode, context, about: parameters.account) {
            try await flow.run(prompt: prompt)
        }
    }
}
