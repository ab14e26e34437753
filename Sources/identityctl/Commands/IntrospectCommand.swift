// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityClient
import OAuthWire

/// The command that prints what the provider says about an access token.
struct IntrospectCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "introspect",
        abstract: "Prints what the provider says about an access token (RFC 7662): whether it is active, and what for.",
        discussion: """
            The token is the one that 'identityctl token' prints, acquired without a question: status 2 says that a person has \
            to sign in. A line has a member of the answer and its value, separated by a tab (in columns on a terminal); values \
            other than texts are JSON. The status is 0 for an inactive token, too: read the line 'active'.

            Many providers answer only clients with a secret: then the status is 7.
            """
    )

    @OptionGroup var provider: ProviderOptions
    @OptionGroup var account: AccountOption
    @OptionGroup var output: OutputOptions

    @Option(
        name: .customLong("scope"),
        help: ArgumentHelp("A scope the token must have. Repeatable.", valueName: "scope")
    )
    var scopes: [String] = []

    @Option(help: ArgumentHelp("How long the provider may take in all, 30 unless given.", valueName: "seconds"))
    var timeout: String?

    var clientOptions: ProviderOptions? { provider }
    var readsSignIns: Bool { true }
    var isAboutSignIns: Bool { true }

    var sharedOptions: SharedOptions {
        let shared = provider.shared(nil, account)
        return scopes.isEmpty ? shared : shared.replacing("--scope", with: scopes.joined(separator: " "))
    }

    func run(in session: Session) async throws {
        let environment = session.environment
        let wanted = try environment.given("account", account.account)
        let scopes = Set(try environment.words("scope", scopes).map(Scope.init(rawValue:)))
        let limit = try SilentOptions.wait(timeout)
        let application = try session.application(provider)
        let account = try await application.chosenAccount(wanted)
        let answer = try await session.console.bounded(by: limit) {
            try await application.introspectToken(of: account, scopes: scopes)
        }
        let object = try JSONObject(parsing: Array(answer.json.utf8))
        try session.result(
            session.isJSON
                ? object.line + "\n" : PlainReport.claims(object, inColumns: StandardStream.output.isTerminal)
        )
    }

    func advice(on error: any Error, in session: Session) -> String? {
        guard case AuthenticationError.Code.networkTimedOut = error else { return nil }
        return "To allow more time, give --timeout SECONDS."
    }
}
