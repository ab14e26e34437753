// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

extension AgentRequest.Token {
    /// Creates the request that the options of a command describe.
    ///
    /// - Throws: `UsageError`, also for options that the agent's profile decides.
    init(
        _ provider: ProviderOptions,
        _ wanted: WantedToken,
        _ environment: Environment,
        for command: String,
        _ socket: Given
    ) throws {
        if let option = provider.keptFromAgents {
            throw UsageError(
                """
                --\(option): \(socket.origin) is set, and the agent's profile decides this. Leave the option out, or unset \
                \(socket.origin).
                """
            )
        }
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
    /// The first option of the command line that the agent's profile decides, by its name without dashes; `nil` if there is
    /// none.
    fileprivate var keptFromAgents: String? {
        Setting.ofProvider.first { $0.traits.contains(.isTheAgents) && OptionGroups(provider: self).isGiven($0) }?
            .name
    }
}
