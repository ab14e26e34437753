// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityClient
import IdentityResources
import Synchronization

/// The access of a person who signs in where the API demands it, after which the tokens may be of another client.
final class PersonalAccess: Sendable {
    private let command: CallCommand
    private let resource: Given
    private let session: Session
    private let state: Mutex<(access: TokenAccess, scopes: Set<Scope>)>

    init(_ command: CallCommand, _ access: TokenAccess, _ scopes: Set<Scope>, for resource: Given, _ session: Session) {
        (self.command, self.resource, self.session) = (command, resource, session)
        state = Mutex((access, scopes))
    }

    @Sendable func acquire(_ parameters: SilentParameters) async throws -> AuthenticationResult {
        let (access, scopes) = state.withLock(\.self)
        var parameters = parameters
        (parameters.scopes, parameters.account) = (scopes, access.account)
        return try await access.acquire(parameters)
    }

    @Sendable func signIn(after error: AuthenticationError) async throws {
        let (current, scopes) = state.withLock { state in
            state.scopes.formUnion(error.challenge?.scopes ?? [])
            return state
        }
        // Without a demand, the resource or the server has refused what there is.
        let isRefused = error.challenge == nil && error.claims == nil
        try await command.signIn(
            for: resource,
            scopes,
            in: session,
            isRefused: isRefused,
            replacing: error.isOfForgottenClient ? current.application.configuration.clientID : nil
        )
        let access = try await command.access(in: session)
        state.withLock { $0.access = access }
    }
}

extension CallCommand {
    /// Returns what acquires the tokens.
    func access(in session: Session) async throws -> TokenAccess {
        try await TokenAccess(provider, account, for: "call", in: session)
    }

    /// Signs in for the API.
    ///
    /// - Parameters:
    ///   - isRefused: Whether the API takes the tokens that there are no more.
    ///   - forgotten: The registered client that the server does not know any more.
    func signIn(
        for resource: Given,
        _ scopes: Set<Scope>,
        in session: Session,
        isRefused: Bool = false,
        replacing forgotten: ClientID? = nil
    ) async throws {
        var login = try LoginCommand.parse([])
        login.provider = provider
        login.provider.resource = resource.text
        login.token.scopes = scopes.map(\.rawValue).sorted()
        login.account = account
        try await login.signIn(
            in: session,
            for: resource,
            isQuiet: true,
            isRefused: isRefused,
            replacing: forgotten
        )
    }
}
