// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityKeyring
import IdentityResources

/// Tokens of a source. If its client is one that this tool registered, and that the server does not know any more, a person is
/// needed, with whose sign-in it is registered anew.
struct RegisteredClient: TokenSource {
    let base: any TokenSource
    let session: Session
    let variables: Variables
    let authority: Authority

    func token(_ wanted: WantedToken) async throws -> HandedToken {
        do {
            return try await base.token(wanted)
        } catch {
            session.noteClient(after: error, under: variables)
            throw session.explained(error, under: variables, at: authority)
        }
    }
}

extension Session {
    /// Notes what an error says of the client that this tool registered.
    ///
    /// - Parameter variables: Those above the client's lines; `nil` for the command's own.
    func noteClient(after error: any Error, under variables: Variables? = nil) {
        guard let error = error as? AuthenticationError,
            error.isOfForgottenClient || .clientNotRegistered ~= error.code,
            let profile = (variables ?? environment).profile
        else { return }
        try? KnownResources(environment).noteForgotten(profile)  // only 'doctor' and the next page miss it
    }

    /// Notes that the client is known, if its server gave the token.
    func noteClient(after result: AuthenticationResult) {
        guard result.source == .identityProvider, let profile = environment.profile else { return }
        try? KnownResources(environment).noteKnown(profile)
    }

    /// Returns the error that asks for a sign-in where a server does not know the client any more that this tool registered
    /// there; any other error as it is.
    func explained(_ error: any Error, under variables: Variables? = nil, at authority: Authority? = nil) -> any Error {
        guard let known = error as? AuthenticationError, .clientNotRegistered ~= known.code,
            (try? (variables ?? environment).isOn("registered", false)) == true,
            let authority = authority ?? made?.configuration.authority
        else { return error }
        return AuthenticationError(forgottenAt: authority, known)
    }
}

extension ProviderOptions {
    /// Returns the store of what this tool registered at servers.
    func cacheOfRegistrations(_ session: Session) throws -> any TokenCache {
        let cache = try cacheChoice(session.environment).cache(
            of: ClientID(rawValue: ClientSoftware.identityctl.id),
            prompting: session.environment.hasScreen ? .allowed() : .never,
            passPhrases: session.passPhrases,
            logger: session.logger
        )
        if let cache = cache as? DesktopTokenCache { session.uses(cache, ClientSoftware.identityctl.group) }
        return cache
    }
}
