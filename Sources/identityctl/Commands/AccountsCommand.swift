// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityClient

/// Who is signed in.
struct AccountsCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "accounts",
        abstract: "Lists who is signed in: username, id, provider."
    )

    @OptionGroup var provider: ProviderOptions
    @OptionGroup var output: OutputOptions

    var sharedOptions: SharedOptions { SharedOptions(provider) }

    func run(in session: Session) async throws {
        let configuration = try provider.configuration(session.environment, logger: session.logger)
        let accounts = try await session.application(configuration).allAccounts()
        if session.isJSON {
            try session.result(JSONReport.accounts(accounts).line + "\n")
        } else {
            if accounts.isEmpty { session.console.line("Nobody is signed in.") }
            try session.result(PlainReport.accounts(accounts, inColumns: StandardStream.output.isTerminal))
        }
    }
}
