// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// The flow that signs an account out: here first, then at the provider, as far as the program requested it.
struct SignOutFlow: Sendable {
    let environment: FlowEnvironment
    let context: RequestContext

    func run(_ account: Account, _ parameters: SignOutParameters) async throws -> SignOutResult {
        try parameters.check()
        let removal = AccountRemoval(environment: environment, context: context)
        try await removal.prepare(account)
        // After the removal, no caller has these tokens any more to revoke them later. So neither request ends with the
        // caller, but by its deadline.
        let (removed, answer) = try await regardlessOfCancellation { [self] in
            let removed = try await removal.remove(account)
            return (removed, try await revokeTokens(removed.credentials, of: account, parameters))
        }
        let result = try await atProvider(account, removed, answer, parameters)
        if let failure = removed.failure { throw failure }
        return result
    }

    /// Revokes the tokens. Returns the outcome and the provider's endpoints; `nil` if nothing is asked of the provider.
    private func revokeTokens(
        _ held: [AccountCredentials],
        of account: Account,
        _ parameters: SignOutParameters
    ) async throws -> Result<(ProviderMetadata, SignOutResult.Outcome), AuthenticationError>? {
        guard parameters.revokesTokens || parameters.endsBrowserSession else { return nil }
        let authority = environment.clouds.authority(of: account).resolved(for: account.id)
        do {
            let metadata = try await environment.resolver.metadata(for: authority, context: context)
            guard parameters.revokesTokens else { return .success((metadata, .notRequested)) }
            let revocation = Revocation(environment: environment, context: context)
            return .success((metadata, try await revocation.revoke(held, authority, metadata)))
        } catch let error as AuthenticationError {
            return .failure(error)
        }
    }

    private func atProvider(
        _ account: Account,
        _ removed: AccountRemoval.Removed,
        _ answer: Result<(ProviderMetadata, SignOutResult.Outcome), AuthenticationError>?,
        _ parameters: SignOutParameters
    ) async throws -> SignOutResult {
        let (metadata, revocation): (ProviderMetadata, SignOutResult.Outcome)
        switch answer {
        case nil: return SignOutResult(wasSignedIn: removed.wasThere)
        case .failure(let error):
            let outcome = SignOutResult.Outcome.failed(error)
            return SignOutResult(
                wasSignedIn: removed.wasThere,
                revocation: parameters.revokesTokens ? outcome : .notRequested,
                browserSession: parameters.endsBrowserSession ? outcome : .notRequested
            )
        case .success(let (endpoints, outcome)): (metadata, revocation) = (endpoints, outcome)
        }
        let authority = environment.clouds.authority(of: account).resolved(for: account.id)
        var browserSession = SignOutResult.Outcome.notRequested
        if parameters.endsBrowserSession {
            try Task.checkCancellation()
            let session = BrowserSessionEnd(
                environment: environment,
                context: context,
                authority: authority,
                parameters: parameters,
                idToken: idToken(removed.credentials, authority)
            )
            do {
                browserSession = try await session.run(at: metadata.endSessionEndpoint)
            } catch {
                if error.isOfACancelledTask { throw error }
                browserSession = .failed(failure(error))
            }
        }
        return SignOutResult(
            wasSignedIn: removed.wasThere,
            revocation: revocation,
            browserSession: browserSession
        )
    }

    /// Converts an error. A program's own receiver may throw any error.
    private func failure(_ error: any Error) -> AuthenticationError {
        error as? AuthenticationError
            ?? AuthenticationError(
                .redirectUnavailable,
                "The browser's session with the provider could not be ended.",
                correlationID: context.correlationID,
                underlyingError: error
            )
    }

    /// The ID token that this program received, of the configured policy if there are several.
    private func idToken(_ held: [AccountCredentials], _ authority: Authority) -> String? {
        let own = held.filter { $0.clientID == environment.clientID }
        let preferred = own.first { $0.partition == authority.partition } ?? own.first
        return preferred?.profiles.lazy.compactMap(\.idToken).first
    }
}

extension SignOutParameters {
    /// Checks the parameters.
    ///
    /// - Throws: `.invalidArgument`, before anything is removed.
    fileprivate func check() throws {
        guard timeout > .zero, timeout <= .seconds(86_400) else {
            throw AuthenticationError(.invalidArgument, "The sign-out's time-out must be above 0 and at most a day.")
        }
        _ = try ExtraItems.checked(extraQueryItems, reserved: EndSessionRequestMessage.reservedNames)
        guard ([logoutHint].compactMap(\.self) + uiLocales).allSatisfy(ExtraItems.fits) else {
            throw AuthenticationError(
                .invalidArgument,
                "A logout hint or language is too long, or has control characters."
            )
        }
    }
}
