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

/// The agent's profiles, read anew for each request.
struct AgentProfiles: Sendable {
    let names: @Sendable () throws -> [String]
    /// - Throws: `UsageError` for a name that is none of `names`.
    let profile: @Sendable (String) throws -> AgentProfile
    let defaultName: @Sendable () throws -> String?
    /// Returns the name of the profile that serves an address, for a username if it names one; `nil` if none does.
    let serving: @Sendable (ServedAddress, String?) throws -> String?

    /// The options of the agent's own command line as the only profile.
    static func only(_ profile: AgentProfile) -> AgentProfiles {
        AgentProfiles(
            names: { [profile.name] },
            profile: { _ in profile },
            defaultName: { profile.name },
            serving: { address, _ in try profile.serves(address) ? profile.name : nil }
        )
    }

    /// All profiles of a directory, without the variables that stand in for options.
    ///
    /// - Parameter problem: Called for each profile that cannot be read when an address is looked for.
    static func all(
        in directory: ProfileDirectory,
        _ variables: Variables,
        _ options: ProviderOptions,
        problem: @escaping @Sendable (any Error) -> Void
    ) -> AgentProfiles {
        let variables = variables.withoutOptions
        return AgentProfiles(
            names: { try directory.names().map(\.text) },
            profile: { name in
                guard let known = ProfileName(name) else { throw notFound("a profile '\(name.printable)'") }
                let profile = try directory.profile(named: known)
                return AgentProfile(
                    name: name,
                    environment: variables.above(profile),
                    options: options,
                    scopes: [],
                    login: SharedOptions().adding("--profile", name),
                    keepsVariables: false,
                    version: profile.version
                )
            },
            defaultName: { try directory.usualName()?.text },
            serving: { try directory.profile(serving: $0, for: $1, problem: problem)?.name.text }
        )
    }
}

extension AgentProfiles {
    /// Returns the profile that a request names, or the only one that fits, or the default one.
    ///
    /// - Throws: `AuthenticationError` with the code `notServed` for an address that no profile serves, or not the one
    ///   that the request names; `UsageError`.
    func chosen(by request: AgentRequest.Token) throws -> AgentProfile {
        guard let text = request.serves else { return try chosenByName(request) }
        guard let address = ServedAddress(text) else { throw Self.notServed(text) }
        if request.profile == nil, request.issuer == nil, request.clientID == nil {
            guard let name = try serving(address, request.username) else { throw Self.notServed(text) }
            return try profile(name)
        }
        let profile = try chosenByName(request)
        guard try profile.serves(address) else { throw Self.notServed(text) }
        return profile
    }

    private func chosenByName(_ request: AgentRequest.Token) throws -> AgentProfile {
        let names = try names()
        if let name = request.profile {
            guard names.contains(name) else { throw Self.notFound("a profile '\(name.printable)'") }
            let profile = try profile(name)
            guard try Self.fits(profile, request) else {
                throw UsageError("The profile '\(name.printable)' is for another client or provider than requested.")
            }
            return profile
        }
        guard request.issuer != nil || request.clientID != nil else {
            if let name = try defaultName() ?? (names.count == 1 ? names.first : nil) { return try profile(name) }
            throw UsageError("Which profile? The agent has: \(Self.list(names)).")
        }
        // A profile that cannot be read is not the one that is asked for.
        let fitting = names.compactMap { try? profile($0) }.filter { (try? Self.fits($0, request)) == true }
        guard let first = fitting.first else { throw Self.notFound("a profile for that client or provider") }
        guard fitting.count > 1 else { return first }
        if let name = try defaultName(), let profile = fitting.first(where: { $0.name == name }) { return profile }
        throw UsageError("Several profiles fit: \(Self.list(fitting.map(\.name))). Name one.")
    }

    private static func notServed(_ address: String) -> AuthenticationError {
        AuthenticationError(.notServed, "No profile of the agent serves \(address.printable).")
    }

    /// Clients of oidc-agent look for its words.
    private static func notFound(_ what: String) -> UsageError {
        UsageError("account not loaded: the agent does not have \(what).")
    }

    private static func list(_ names: [String]) -> String {
        names.isEmpty ? "none" : names.prefix(20).map(\.printable).joined(separator: ", ")
    }

    private static func fits(_ profile: AgentProfile, _ request: AgentRequest.Token) throws -> Bool {
        let (options, environment) = (profile.options, profile.environment)
        if let wanted = request.clientID, try environment.given("client-id", options.clientID)?.text != wanted {
            return false
        }
        guard let wanted = request.issuer else { return true }
        return try profile.providers(options, environment).contains { plain($0) == plain(wanted) }
    }

    private static func plain(_ url: String) -> Substring { url.hasSuffix("/") ? url.dropLast() : url[...] }
}

extension AgentProfile {
    /// Whether a line `serves` names an address.
    func serves(_ address: ServedAddress) throws -> Bool {
        try environment.words("serves", []).contains { ServedAddress($0)?.serves(address) == true }
    }

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

    /// The addresses by which the provider is known.
    fileprivate func providers(_ options: ProviderOptions, _ environment: Variables) throws -> [String] {
        let given = [
            try environment.given("issuer", options.issuer), try environment.given("authority", options.authority),
        ]
        return given.compactMap { $0?.text }
    }
}
