// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

/// One client at one provider, under a name by which programs ask the agent for its tokens.
struct AgentProfile: Sendable {
    let name: String
    /// Everything that an option or a variable can say, and the policy.
    let environment: Variables
    let options: ProviderOptions
    let scopes: [String]
    /// The options of a sign-in.
    let login: SharedOptions
    /// Whether the agent's own variables count for a sign-in.
    let keepsVariables: Bool
    /// A text that differs after each change.
    let version: String
}

/// The clients of an agent, read anew for each request. `TokenRoute` says whose token a request is about.
struct AgentProfiles: Sendable {
    /// The client that the agent's own options or variables name: then no other counts.
    private let only: AgentProfile?
    private let options: ProviderOptions
    private let variables: Variables
    private let lines: ProfileLines

    /// The client of the agent's own command line, alone.
    static func only(_ profile: AgentProfile) -> AgentProfiles {
        let (options, variables) = (profile.options, profile.environment)
        return AgentProfiles(only: profile, options: options, variables: variables, lines: .onDisk(variables))
    }

    /// All profiles, without the variables that stand in for options.
    static func all(_ lines: ProfileLines, _ variables: Variables, _ options: ProviderOptions) -> AgentProfiles {
        AgentProfiles(only: nil, options: options, variables: variables.withoutOptions, lines: lines)
    }

    func names() throws -> [String] { try only.map { [$0.name] } ?? lines.names().map(\.text) }

    /// Returns the profile that a request is about.
    ///
    /// - Throws: As `TokenRoute.answering`.
    func chosen(by request: AgentRequest.Token) throws -> AgentProfile {
        let route = try TokenRoute.answering(request, only: only?.name, options, variables, lines)
        if let only { return only }
        let profile = route.variables.profile
        let name = profile?.name.text ?? ProfileName.none
        return AgentProfile(
            name: name,
            environment: route.variables,
            options: options,
            scopes: [],
            login: SharedOptions().adding("--profile", name),
            keepsVariables: false,
            version: profile?.version ?? ""
        )
    }
}

extension AgentProfile {
    /// Returns the account that a request names. A line `account` of the profile binds it.
    ///
    /// - Throws: `.blockedByPolicy` for another account than that line's, and as `chosenAccount`.
    func account(_ user: String?, in application: PublicClientApplication) async throws -> Account {
        guard let bound = try environment.given("account", nil) else {
            return try await application.chosenAccount(user.map { Given(text: $0, origin: "user") })
        }
        let account = try await application.chosenAccount(bound)
        guard let user, user != bound.text, user != account.id.rawValue else { return account }
        guard try await application.accounts(withUsername: user).contains(where: { $0.id == account.id }) else {
            throw AgentPolicy.refusal(
                """
                The agent's profile '\(name.printable)' is for the account of \(bound.origin.printable), and not for \
                '\(user.printable)'.
                """
            )
        }
        return account
    }
}
