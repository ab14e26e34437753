// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import OAuthWire

/// The token that a helper hands out.
struct HelperToken: Sendable {
    let text: String
    let expiresOn: Date
    /// The username that the agent's profile names, if there is one.
    let username: String?

    /// - Throws: `UsageError` for a token with other characters than a header may hold, and for a username with control
    ///   characters.
    init(_ text: String, expiresOn: Date, username: String? = nil) throws {
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw UsageError("The provider's token has characters that no program accepts.")
        }
        guard username?.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) != false else {
            throw UsageError("The username in the agent's answer has control characters.")
        }
        self.text = text
        self.expiresOn = expiresOn
        self.username = username
    }

    /// Returns the token that an agent gives; `nil` if it serves no such address.
    ///
    /// - Parameter serves: The address that the agent's profile must serve.
    /// - Throws: As `AgentClient.ask(_:within:)`, and `UsageError`.
    static func acquire(
        _ command: TokenCommand,
        _ environment: Environment,
        through socket: Given,
        serves: ServedAddress?,
        wantsIDToken: Bool = false,
        forcesRefresh: Bool = false
    ) async throws -> Self? {
        let silent = command.silent
        var request = try AgentRequest.Token(
            command.provider,
            command.token,
            command.account,
            silent,
            environment,
            for: "helper",
            socket
        )
        let validity = try environment.given("min-validity", silent.minValidity)?.seconds(from: 0) ?? .seconds(60)
        request.serves = serves?.text
        request.minimumValidity = Int(validity.components.seconds)
        request.wantsIDToken = wantsIDToken
        request.forcesRefresh = forcesRefresh
        let answer: JSONObject
        do {
            let timeout = try environment.given("timeout", silent.timeout)?.seconds(from: 1) ?? .seconds(30)
            answer = try await AgentClient(socket: socket).ask(.token(request), within: timeout)
        } catch let error as AuthenticationError where error.code == .notServed {
            return nil
        }
        // Another agent may not know the member, and give a token for elsewhere.
        guard answer.string("serves") == request.serves,
            let text = answer.string(wantsIDToken ? "id_token" : "access_token"),
            let end = answer.integer(wantsIDToken ? "id_token_expires_at" : "expires_at")
        else { throw AuthenticationError.agent("unavailable", "The agent's answer has no token for that address.") }
        return try HelperToken(
            text,
            expiresOn: Date(timeIntervalSince1970: Double(end)),
            username: answer.string("username")
        )
    }

    /// Returns the token that `command` describes: its access token, or its ID token if `wantsIDToken`, from the
    /// cache or renewed. No person is asked.
    ///
    /// - Throws: As `acquireTokenSilently(_:)`, and `UsageError`, also for a token with other characters than a
    ///   header may hold.
    static func acquire(
        _ command: TokenCommand,
        _ environment: Environment,
        in session: Session,
        wantsIDToken: Bool = false,
        forcesRefresh: Bool = false
    ) async throws -> Self {
        let silent = command.silent
        let timeout = try environment.given("timeout", silent.timeout)?.seconds(from: 1) ?? .seconds(30)
        let validity = try environment.given("min-validity", silent.minValidity)?.seconds(from: 0) ?? .seconds(60)
        let wanted = try environment.given("account", command.account.account)
        let application = try session.application(
            try command.provider.configuration(environment, logger: session.logger)
        )
        let parameters = SilentParameters(
            scopes: try command.token.scopes(environment),
            account: try await application.chosenAccount(wanted),
            claims: try command.token.claims(environment),
            forcesRefresh: forcesRefresh,
            minimumValidity: validity
        )
        let (result, idToken) = try await session.bounded(by: timeout) {
            let result = try await application.acquireTokenSilently(parameters)
            guard wantsIDToken else { return (result, IDToken?.none) }
            return try await application.renewingIDToken(of: result, parameters)
        }
        let text = idToken?.text ?? result.accessToken
        let token = try HelperToken(text, expiresOn: idToken?.expiresOn ?? result.expiresOn)
        _ = await session.storageFailure(of: result)
        return token
    }
}
