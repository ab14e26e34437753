// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityClient

/// Signing out.
struct LogoutCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout",
        abstract: "Signs an account out on this computer: its tokens are gone.",
        discussion: "The browser keeps its own session with the provider. Needs no network."
    )

    @OptionGroup var provider: ProviderOptions
    @OptionGroup var account: AccountOption
    @OptionGroup var output: OutputOptions

    @Flag(help: "Sign everyone out whom 'identityctl accounts' lists.")
    var all = false

    func validate() throws {
        guard !all || account.account == nil else {
            throw ValidationError("Give one of --account and --all, not both.")
        }
    }

    func run(in session: Session) async throws {
        let wanted = all ? nil : try session.environment.given("account", account.account)
        let application = try session.application(
            try provider.configuration(session.environment, logger: session.logger)
        )
        let accounts = try await leaving(application, wanted)
        for account in accounts {
            try await application.remove(account)
            session.console.line("Signed out \(account.shortLabel).")
        }
        guard accounts.isEmpty else { return }
        let whom = wanted.map { "'\($0.text.printable)'" } ?? "Nobody"
        session.console.line(wanted == nil ? "\(whom) is signed in." : "\(whom) is not signed in; nothing was changed.")
    }

    /// Whom to sign out. That someone is not signed in is not an error: it is what was asked for.
    private func leaving(_ application: PublicClientApplication, _ wanted: Given?) async throws -> [Account] {
        if all { return try await application.allAccounts() }
        do {
            return [try await application.chosenAccount(wanted)]
        } catch AuthenticationError.noTokensFound {
            return []
        }
    }
}
