// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityClient
import OAuthWire

/// The command that prints what the provider says about the person.
struct UserInfoCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "userinfo",
        abstract: "Prints the claims that the provider has about an account, such as name and email.",
        discussion: """
            Each call asks the provider's UserInfo endpoint, with a token that is acquired without a question. A line has a \
            claim and its value, separated by a tab (in columns on a terminal); values other than texts are JSON. The claims \
            are printed only if they are about the account that is signed in, otherwise the status is 5. The status is 2 if a \
            person has to sign in.
            """
    )

    @OptionGroup var provider: ProviderOptions
    @OptionGroup var account: AccountOption
    @OptionGroup var output: OutputOptions

    @Option(help: ArgumentHelp("How long the provider may take in all, 30 unless given.", valueName: "seconds"))
    var timeout: String?

    var clientOptions: ProviderOptions? { provider }
    var readsSignIns: Bool { true }
    var isAboutSignIns: Bool { true }

    var sharedOptions: SharedOptions { provider.shared(nil, account) }

    func run(in session: Session) async throws {
        let environment = session.environment
        let wanted = try environment.given("account", account.account)
        let limit = try SilentOptions.wait(timeout)
        let application = try session.application(provider)
        let account = try await application.chosenAccount(wanted)
        let claims = try await session.console.bounded(by: limit) { try await application.userInfo(for: account) }
        let object = try JSONObject(parsing: Array(claims.json.utf8))
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
