// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import OAuthWire

/// The tokens of an agent, which has the sign-ins.
struct AgentSource: TokenSource {
    /// The socket, and the variable that names it.
    let socket: Given
    private let options: ProviderOptions
    private let route: TokenRoute
    private let command: String

    /// - Parameter command: The name that the agent shows to its person.
    /// - Throws: `UsageError` for options that the agent's profile decides.
    init(_ socket: Given, _ options: ProviderOptions, _ route: TokenRoute, for command: String) throws {
        try options.refuseWhatAgentsDecide(socket)
        (self.socket, self.options, self.route, self.command) = (socket, options, route, command)
    }

    func token(_ wanted: WantedToken) async throws -> HandedToken {
        var request = try AgentRequest.Token(options, wanted, route.variables, for: command, socket)
        request.serves = route.served?.text
        request.username = wanted.person
        guard let person = wanted.person else { return try await answer(to: request, wanted) }
        // The agent is asked for the account with the name, or else for the one whose profile has a line with that username.
        request.user = request.user ?? person
        do {
            let token = try await answer(to: request, wanted)
            guard token.username == person || token.isOf(person) else { throw NoTokenOfPerson(person: person) }
            return token
        } catch AuthenticationError.Code.noTokensFound {
            guard wanted.account == nil else { throw NoTokenOfPerson(person: person) }
            request.user = nil
            let token = try await answer(to: request, wanted)
            guard token.username == person else { throw NoTokenOfPerson(person: person) }
            return token
        }
    }

    private func answer(to request: AgentRequest.Token, _ wanted: WantedToken) async throws -> HandedToken {
        let limit = try wanted.timeout ?? SilentOptions.wait(nil)
        let answer = try await AgentClient(socket: socket).ask(.token(request), within: limit)
        // Another agent may not know the member, and give a token for elsewhere.
        guard answer.string("serves") == request.serves else {
            throw AuthenticationError.agent("unavailable", "The agent's answer has no token for that address.")
        }
        return try HandedToken(answer, of: Self.account, wantsIDToken: request.wantsIDToken)
    }
}

extension HandedToken {
    /// The token in an agent's answer.
    fileprivate init(_ answer: JSONObject, of account: Account, wantsIDToken: Bool) throws {
        let report = answer.object("report") ?? JSONObject()
        guard let token = answer.string("access_token"), let end = answer.integer("expires_at"),
            let idToken = wantsIDToken ? answer.string("id_token") : ""
        else { throw AuthenticationError.agent("unavailable", "The agent's answer has no token.") }
        let words = answer.string("scope")?.split(separator: " ") ?? []
        self.init(
            result: AuthenticationResult(
                accessToken: token,
                expiresOn: Self.date(end),
                scopes: Set(words.map { Scope(rawValue: String($0)) }),
                account: account,
                source: report.string("source").flatMap(AuthenticationResult.Source.init) ?? .cache
            ),
            report: report,
            username: answer.string("username")
        )
        guard wantsIDToken else { return }
        self.idToken = IDToken(idToken, expiresOn: Self.date(answer.integer("id_token_expires_at") ?? end))
    }

    /// Within limits, because the agent may be another computer's.
    private static func date(_ seconds: Int) -> Date {
        Date(timeIntervalSince1970: Double(UnixSeconds.nearest(to: seconds)))
    }

    /// Whether the account that the agent names has the id or the username.
    fileprivate func isOf(_ person: String) -> Bool {
        let account = report?.object("account")
        return account?.string("id") == person || account?.string("username")?.lowercased() == person.lowercased()
    }
}

// A client of an API wants an application and an account. With an agent, these stand in for its own, and are asked for nothing.
extension AgentSource {
    static let account = Account(id: Account.ID(rawValue: "agent"), environment: "agent")

    static var configuration: ClientConfiguration {
        get throws {
            try ClientConfiguration(
                clientID: ClientID(rawValue: "agent"),
                authority: .openIDConnect(issuer: "https://agent.invalid"),
                cache: InMemoryTokenCache()
            )
        }
    }
}

extension AgentRequest.Token {
    /// Creates the request that the options of a command describe.
    ///
    /// - Throws: `UsageError`, also for options that the agent's profile decides.
    init(
        _ provider: ProviderOptions,
        _ wanted: WantedToken,
        _ environment: Variables,
        for command: String,
        _ socket: Given
    ) throws {
        try provider.refuseWhatAgentsDecide(socket)
        self.init()
        profile = try environment.given("profile", provider.profile)?.text
        if profile == ProfileName.none { profile = nil }
        clientID = try environment.given("client-id", provider.clientID)?.text
        issuer =
            try environment.given("issuer", provider.issuer)?.text
            ?? environment.given("authority", provider.authority)?.text
        user = wanted.account?.text
        scopes = wanted.scopes
        claims = wanted.claims
        minimumValidity = Int(wanted.minimumValidity.wholeSeconds)
        forcesRefresh = wanted.forcesRefresh
        refusedToken = wanted.refusedToken
        wantsIDToken = wanted.isIDToken
        usesCacheOnly = wanted.usesCacheOnly
        allowsExpiredToken = wanted.allowsExpiredToken
        hint = "identityctl \(command)"
    }
}

extension ProviderOptions {
    /// - Throws: `UsageError` for an option of the command line that the agent's profile decides.
    fileprivate func refuseWhatAgentsDecide(_ socket: Given) throws {
        let groups = OptionGroups(provider: self)
        guard
            let option = Setting.ofProvider.first(where: { $0.traits.contains(.isTheAgents) && groups.isGiven($0) })?
                .option
        else { return }
        throw UsageError(
            """
            \(option): \(socket.origin) is set, and the agent's profile decides this. Leave the option out, or unset \
            \(socket.origin).
            """
        )
    }
}
