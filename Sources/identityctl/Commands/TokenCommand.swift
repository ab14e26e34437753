// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import IdentityClient

/// The command that returns a token without a sign-in.
struct TokenCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Prints an access token without a question: from the cache, or refreshed.",
        discussion: "Ends with status 2 when a person has to sign in; then run 'identityctl login'."
    )

    @OptionGroup var provider: ProviderOptions
    @OptionGroup var token: TokenOptions
    @OptionGroup var account: AccountOption
    @OptionGroup var output: OutputOptions

    @Flag(help: "Ask the provider for a new token even if the cached one is still good.")
    var forceRefresh = false

    @Option(
        help: ArgumentHelp("Renew a token that is good for less than this, 0 unless given.", valueName: "seconds")
    )
    var minValidity: String?

    @Flag(
        name: .customLong("id-token"),
        help: "Print the ID token, which says who signed in, in place of the access token."
    )
    var idToken = false

    @Option(help: ArgumentHelp("How long the provider may take in all, 30 unless given.", valueName: "seconds"))
    var timeout: String?

    var clientOptions: ProviderOptions? { provider }

    var sharedOptions: SharedOptions { SharedOptions(provider, token, account) }

    func advice(on error: any Error, in session: Session) -> String? {
        if let advice = (error as? AuthenticationError)?.underlyingError as? AgentAdvice { return advice.text }
        guard case AuthenticationError.Code.networkTimedOut = error else { return nil }
        return "To allow more time, give --timeout SECONDS."
    }

    /// Returns how long an answer may take.
    func wait() throws -> Duration {
        try timeout.map { try Given(text: $0, origin: "--timeout").seconds(from: 1) } ?? .seconds(30)
    }

    func run(in session: Session) async throws {
        let environment = session.environment
        if let agent = try environment.given("agent", nil) { return try await run(in: session, through: agent) }
        let scopes = try token.scopes(environment)
        let claims = try token.claims(environment)
        let forcesRefresh = try environment.isOn("force-refresh", forceRefresh)
        let validity = try environment.given("min-validity", minValidity)?.seconds(from: 0) ?? .zero
        let wantsIDToken = try environment.isOn("id-token", idToken)
        let timeout = try wait()
        let wanted = try environment.given("account", account.account)
        let configuration = try provider.configuration(environment, logger: session.logger)
        let application = try session.application(configuration)
        let parameters = SilentParameters(
            scopes: scopes,
            account: try await application.chosenAccount(wanted),
            claims: claims,
            forcesRefresh: forcesRefresh,
            minimumValidity: validity
        )
        let (result, idToken) = try await session.bounded(by: timeout) {
            let result = try await application.acquireTokenSilently(parameters)
            guard wantsIDToken else { return (result, IDToken?.none) }
            return try await application.renewingIDToken(of: result, parameters)
        }
        let left = (idToken?.expiresOn ?? result.expiresOn).timeIntervalSinceNow
        if left < Double(validity.components.seconds) {
            session.console.line("Warning: the token is good for \(Int(left)) s only. No longer one could be had.")
        }
        try await session.write(result, idToken, isPersistent: !(configuration.cache is InMemoryTokenCache))
    }
}
