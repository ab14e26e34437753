// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import IdentityClient
import OAuthWire

extension CallCommand {
    /// The account that a call is made for, and what acquires its tokens.
    struct Caller: Sendable {
        let application: PublicClientApplication
        let account: Account
        let acquire: @Sendable (SilentParameters) async throws -> AuthenticationResult
    }

    func caller(in session: Session) async throws -> Caller {
        let environment = session.environment
        if let socket = try environment.given("agent", nil) { return try caller(through: socket, session) }
        let application = try session.application(
            provider.configuration(environment, passPhrases: session.passPhrases, logger: session.logger)
        )
        let account = try await application.chosenAccount(environment.given("account", account.account))
        return Caller(application: application, account: account) { parameters in
            let result = try await application.acquireTokenSilently(parameters)
            session.warn(ofClaimsMissingIn: result, wanting: parameters.scopes)
            return result
        }
    }

    /// An agent has the account. The application and the account of this caller only stand in for those.
    private func caller(through socket: Given, _ session: Session) throws -> Caller {
        var wanted = try WantedToken(token, account, SilentOptions.parse([]), session.environment)
        // The variables for these are about other commands.
        (wanted.isIDToken, wanted.minimumValidity) = (false, .zero)
        let timeout = wanted.timeout
        let asked = try AgentRequest.Token(provider, wanted, session.environment, for: "call", socket)
        let account = Account(id: Account.ID(rawValue: "agent"), environment: "agent")
        let application = try session.application(
            PublicClientApplication.Configuration(
                clientID: ClientID(rawValue: "agent"),
                authority: .openIDConnect(issuer: "https://agent.invalid"),
                cache: InMemoryTokenCache()
            )
        )
        return Caller(application: application, account: account) { parameters in
            var request = asked
            (request.claims, request.refusedToken) = (parameters.claims, parameters.refusedToken)
            request.forcesRefresh = parameters.forcesRefresh
            let answer = try await AgentClient(socket: socket).ask(.token(request), within: timeout)
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
