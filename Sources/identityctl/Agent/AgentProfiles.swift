// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// One client at one provider, under a name by which programs ask the agent for its tokens.
struct AgentProfile: Sendable {
    let name: String
    /// Everything that an option or a variable can say, and the policy.
    let environment: Environment
    let options: ProviderOptions
    let scopes: [String]
    /// The command that signs in.
    let login: String
    /// A text that differs after each change.
    let version: String
}

/// The agent's profiles, read anew for each request.
struct AgentProfiles: Sendable {
    let names: @Sendable () throws -> [String]
    /// - Throws: `UsageError` for a name that is none of `names`.
    let profile: @Sendable (String) throws -> AgentProfile
    let defaultName: @Sendable () throws -> String?

    /// The options of the agent's own command line as the only profile.
    static func only(_ profile: AgentProfile) -> AgentProfiles {
        AgentProfiles(names: { [profile.name] }, profile: { _ in profile }, defaultName: { profile.name })
    }
}

extension AgentProfiles {
    /// Returns the profile that a request names, or the only one that fits, or the default one.
    func chosen(by request: AgentRequest.Token) throws -> AgentProfile {
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
    /// The addresses by which the provider is known.
    fileprivate func providers(_ options: ProviderOptions, _ environment: Environment) throws -> [String] {
        let given = [
            try environment.given("issuer", options.issuer), try environment.given("authority", options.authority),
        ]
        return given.compactMap { $0?.text }
    }
}
