// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import OAuthWire

/// The options that give the token for an address.
struct HelperSource: Sendable {
    let environment: Environment
    /// The username that goes with the token, if one was chosen.
    let username: String?
    let command: TokenCommand
    /// The agent that is asked, and the address that its profile must serve.
    let agent: (socket: Given, serves: ServedAddress?)?

    /// Returns the token for a program that names no address.
    ///
    /// - Throws: `HelperFailure`, and `.cache` if an agent gives no token.
    func anyToken(in session: Session, wantsIDToken: Bool = false) async throws -> HelperToken {
        guard let token = try await token(in: session, wantsIDToken: wantsIDToken) else {
            throw AuthenticationError.agent("unavailable", "The agent's answer has no token.")
        }
        return token
    }

    /// Returns the token, from the cache or renewed; `nil` if the agent serves no such address. No person is asked.
    ///
    /// - Throws: `HelperFailure`.
    func token(
        in session: Session,
        wantsIDToken: Bool = false,
        forcesRefresh: Bool = false
    ) async throws -> HelperToken? {
        do {
            var wanted = try WantedToken(
                command.token,
                command.account,
                command.silent,
                environment,
                minimumValidity: .seconds(60)
            )
            wanted.isIDToken = wantsIDToken
            wanted.forcesRefresh = forcesRefresh
            if let agent { return try await token(wanted, through: agent.socket, serves: agent.serves?.text) }
            let application = try session.application(
                try command.provider.configuration(environment, logger: session.logger)
            )
            let token = try await wanted.acquire(from: application, in: session)
            _ = await session.storageFailure(of: token.result)
            return try HelperToken(token.text, expiresOn: token.expiresOn)
        } catch {
            let options = command.sharedOptions
            let advised = environment.profile.map { options.replacing("--profile", with: $0.name.text) } ?? options
            throw HelperFailure(cause: error, options: advised)
        }
    }

    private func token(
        _ wanted: WantedToken,
        through socket: Given,
        serves: String?
    ) async throws -> HelperToken? {
        var request = try AgentRequest.Token(command.provider, wanted, environment, for: "helper", socket)
        request.serves = serves
        do {
            let answer = try await AgentClient(socket: socket).ask(.token(request), within: wanted.timeout)
            // Another agent may not know the member, and give a token for elsewhere.
            guard answer.string("serves") == serves else {
                throw AuthenticationError.agent("unavailable", "The agent's answer has no token for that address.")
            }
            let token = try request.token(in: answer)
            return try HelperToken(token.text, expiresOn: token.expiresOn, username: answer.string("username"))
        } catch let error as AuthenticationError where error.code == .notServed {
            return nil
        }
    }
}

/// The token that a helper hands out.
struct HelperToken: Sendable {
    let text: String
    let expiresOn: Date
    /// The username that the agent's profile names, if there is one.
    let username: String?

    /// - Throws: `UsageError` for a token that no program accepts, and for a username with control characters.
    init(_ text: String, expiresOn: Date, username: String? = nil) throws {
        try text.checkAsToken()
        guard username?.utf8.hasControls != true else {
            throw UsageError("The username in the agent's answer has control characters.")
        }
        self.text = text
        self.expiresOn = expiresOn
        self.username = username
    }
}
