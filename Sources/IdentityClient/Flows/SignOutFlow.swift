// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// Signs an account out: here first, then at the provider as far as it was asked for.
struct SignOutFlow: Sendable {
    let environment: FlowEnvironment
    let context: RequestContext

    func run(_ account: Account, _ parameters: SignOutParameters) async throws -> SignOutResult {
        try parameters.check()
        let removed = try await AccountRemoval(environment: environment, context: context).run(account)
        let result = try await atProvider(account, removed, parameters)
        if let failure = removed.failure { throw failure }
        return result
    }

    private func atProvider(
        _ account: Account,
        _ removed: AccountRemoval.Removed,
        _ parameters: SignOutParameters
    ) async throws -> SignOutResult {
        guard parameters.revokesTokens || parameters.endsBrowserSession else {
            return SignOutResult(wasSignedIn: removed.wasThere)
        }
        let authority = environment.configuration.authority.resolved(for: account.id)
        let metadata: AuthorityMetadata
        let revocation: SignOutResult.Outcome
        do {
            // Nobody has these tokens any more who could take them back later: neither request ends with the caller, but
            // by its deadline.
            (metadata, revocation) = try await regardlessOfCancellation {
                let metadata = try await environment.resolver.metadata(for: authority, context: context)
                guard parameters.revokesTokens else { return (metadata, SignOutResult.Outcome.notRequested) }
                let revocation = try await Revocation(environment: environment, context: context)
                    .revoke(removed.credentials, authority, metadata)
                return (metadata, revocation)
            }
        } catch let error as AuthenticationError {
            let outcome = SignOutResult.Outcome.failed(error)
            return SignOutResult(
                wasSignedIn: removed.wasThere,
                revocation: parameters.revokesTokens ? outcome : .notRequested,
                browserSession: parameters.endsBrowserSession ? outcome : .notRequested
            )
        }
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
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                browserSession = .failed(failure(error))
            }
        }
        return SignOutResult(
            wasSignedIn: removed.wasThere,
            revocation: revocation,
            browserSession: browserSession
        )
    }

    /// A receiver of the program's own may throw anything.
    private func failure(_ error: any Error) -> AuthenticationError {
        error as? AuthenticationError
            ?? AuthenticationError(
                .redirectUnavailable,
                "The browser's session with the provider could not be ended.",
                correlationID: context.correlationID,
                underlyingError: error
            )
    }

    /// The ID token that this program was given, of the configured policy where there are several.
    private func idToken(_ held: [AccountCredentials], _ authority: Authority) -> String? {
        let own = held.filter { $0.clientID == environment.clientID }
        let preferred = own.first { $0.partition == authority.partition } ?? own.first
        return preferred?.profiles.lazy.compactMap(\.idToken).first
    }
}

extension SignOutParameters {
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
