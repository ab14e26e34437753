// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityClient

/// The command that exchanges a token for another one.
struct ExchangeCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "exchange",
        abstract: "Exchanges a token for another one (RFC 8693), and prints that.",
        discussion: """
            The token of an account is acquired without a question, with the scopes of --scope, and renewed if necessary: \
            status 2 says that a person has to sign in. With --subject-token-file, the token comes from a file and no account \
            is needed. --audience and --requested-resource name the service that the new token is for, --requested-scope its scopes.

            The new token is not stored. Not every provider exchanges tokens, and some do it only for clients with a secret: \
            then the status is 7 or 1.

            identityctl exchange --audience billing --requested-scope invoices.read
            """
    )

    @OptionGroup var provider: ProviderOptions
    @OptionGroup var account: AccountOption
    @OptionGroup var exchange: ExchangeOptions
    @OptionGroup var given: GivenTokenOptions
    @OptionGroup var record: RecordOption
    @OptionGroup var output: OutputOptions

    @Option(
        name: .customLong("scope"),
        help: ArgumentHelp("A scope of the account's token that is exchanged. Repeatable.", valueName: "scope")
    )
    var scopes: [String] = []

    @Option(help: ArgumentHelp("How long the provider may take in all, 30 unless given.", valueName: "seconds"))
    var timeout: String?

    var clientOptions: ProviderOptions? { provider }
    var readsSignIns: Bool { true }
    var isAboutSignIns: Bool { true }
    func recording() throws -> Recording? { try record.recording(of: "exchange") }

    var sharedOptions: SharedOptions {
        let shared = provider.shared(nil, account)
        return scopes.isEmpty ? shared : shared.replacing("--scope", with: scopes.joined(separator: " "))
    }

    func run(in session: Session) async throws {
        let environment = session.environment
        let wanted = try WantedExchange(exchange, environment)
        let limit = try SilentOptions.wait(timeout)
        let tokens = try await given.tokens()
        if tokens.subject != nil, account.account != nil || !scopes.isEmpty || wanted.subject?.isOption == true {
            throw UsageError(
                "--subject-token-file: the token is not an account's. Leave out --account, --scope and --subject. The new "
                    + "token's scopes go into --requested-scope."
            )
        }
        let application = try session.application(provider)
        let subject: TokenExchangeParameters.Subject
        if let token = tokens.subject {
            subject = .token(token)
        } else {
            let account = try await application.chosenAccount(environment.given("account", account.account))
            let scopes = Set(try environment.words("scope", scopes).map(Scope.init(rawValue:)))
            subject =
                wanted.isIDToken
                ? .idToken(of: account, scopes: scopes) : .accessToken(of: account, scopes: scopes)
        }
        let parameters = wanted.parameters(subject, actor: tokens.actor)
        let result = try await session.console.bounded(by: limit) { try await application.exchangeToken(parameters) }
        try session.result((session.isJSON ? JSONReport.exchange(result).line : result.token.value) + "\n")
    }

    func advice(on error: any Error, in session: Session) -> String? {
        guard case AuthenticationError.Code.networkTimedOut = error else { return nil }
        return "To allow more time, give --timeout SECONDS."
    }
}
