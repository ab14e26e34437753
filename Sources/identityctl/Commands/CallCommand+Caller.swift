// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import IdentityClient
import IdentityResources
import OAuthWire
import Synchronization

extension CallCommand {
    /// The account that a call is made for, and what acquires its tokens.
    struct Caller: Sendable {
        let application: PublicClientApplication
        let account: Account
        /// Where the tokens go, if they are for a resource; `nil` for the origin of the call.
        var place: WebAddress?
        let acquire: @Sendable (SilentParameters) async throws -> AuthenticationResult
    }

    /// The caller of a person who signs in where the API demands it, after which the tokens may be of another client.
    final class PersonalCaller: Sendable {
        private let command: CallCommand
        private let resource: Given
        private let session: Session
        private let state: Mutex<(caller: Caller, scopes: Set<Scope>)>

        init(_ command: CallCommand, _ caller: Caller, _ scopes: Set<Scope>, for resource: Given, _ session: Session) {
            (self.command, self.resource, self.session) = (command, resource, session)
            state = Mutex((caller, scopes))
        }

        @Sendable func acquire(_ parameters: SilentParameters) async throws -> AuthenticationResult {
            let (caller, scopes) = state.withLock(\.self)
            var parameters = parameters
            (parameters.scopes, parameters.account) = (scopes, caller.account)
            return try await caller.acquire(parameters)
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
            let caller = try await command.caller(in: session)
            state.withLock { $0.caller = caller }
        }
    }

    /// - Parameter served: The address that an agent's profile must serve; `nil` if the command names the profile.
    func caller(in session: Session, serving served: ServedAddress? = nil) async throws -> Caller {
        let environment = session.environment
        if let socket = environment.agent { return try caller(through: socket, served, session) }
        let application = try session.application(
            provider.configuration(environment, passPhrases: session.passPhrases, logger: session.logger)
        )
        let account = try await application.chosenAccount(environment.given("account", account.account))
        let place = environment.profile?.place ?? application.configuration.authority.resource
        return Caller(application: application, account: account, place: place.flatMap { WebAddress($0) }) {
            parameters in
            let result: AuthenticationResult
            do {
                result = try await application.acquireTokenSilently(parameters)
            } catch let error as AuthenticationError
                where .clientNotRegistered ~= error.code && environment.profile?.isOfRegistration == true
            {
                session.noteClient(after: error)
                throw AuthenticationError(forgottenAt: application.configuration.authority, error)
            }
            session.warn(ofClaimsMissingIn: result, wanting: parameters.scopes)
            session.noteClient(after: result)
            return result
        }
    }

    /// An agent has the account. The application and the account of this caller only stand in for those.
    private func caller(through socket: Given, _ served: ServedAddress?, _ session: Session) throws -> Caller {
        var wanted = try WantedToken(token, account, SilentOptions.parse([]), session.environment)
        // The variables for these are about other commands.
        (wanted.isIDToken, wanted.minimumValidity) = (false, .zero)
        let timeout = wanted.timeout
        var asked = try AgentRequest.Token(provider, wanted, session.environment, for: "call", socket)
        asked.serves = served?.text
        let account = Account(id: Account.ID(rawValue: "agent"), environment: "agent")
        let application = try session.application(
            PublicClientApplication.Configuration(
                clientID: ClientID(rawValue: "agent"),
                authority: .openIDConnect(issuer: "https://agent.invalid"),
                cache: InMemoryTokenCache()
            )
        )
        return Caller(application: application, account: account) { [asked] parameters in
            var request = asked
            (request.claims, request.refusedToken) = (parameters.claims, parameters.refusedToken)
            request.forcesRefresh = parameters.forcesRefresh
            let answer = try await AgentClient(socket: socket).ask(.token(request), within: timeout)
            // Another agent may not know the member, and give a token for elsewhere.
            guard answer.string("serves") == request.serves else {
                throw AuthenticationError.agent("unavailable", "The agent's answer has no token for that address.")
            }
            let token = try request.token(in: answer)
            try token.text.checkAsToken()
            let words = answer.string("scope")?.split(separator: " ") ?? []
            return AuthenticationResult(
                accessToken: token.text,
                expiresOn: token.expiresOn,
                scopes: Set(words.map { Scope(rawValue: String($0)) }),
                account: account,
                source: answer.object("report")?.string("source").flatMap(AuthenticationResult.Source.init) ?? .cache
            )
        }
    }
}
