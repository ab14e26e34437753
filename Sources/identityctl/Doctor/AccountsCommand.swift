// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityClient

/// The command that lists the accounts that are signed in.
struct AccountsCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "accounts",
        abstract: "Lists the signed-in accounts: username, id, provider.",
        discussion: """
            Where the provider told when it ends a sign-in, the line has that time, too. A refresh may move it.

            If several accounts are signed in and --account names none, 'token' and 'call' use the default account: the \
            account that signed in last, or that was chosen since with --default.

            With --support, prints JSON for a support case: identifiers, tenants, scopes and times, but no token, ID token or \
            name. Read it before you send it.
            """
    )

    @OptionGroup var provider: ProviderOptions
    @OptionGroup var output: OutputOptions

    @Option(
        name: .customLong("default"),
        help: ArgumentHelp("Make this account the default one, and list none.", valueName: "id-or-username"),
        completion: AccountOption.completion
    )
    var newDefault: String?

    @Flag(
        help: ArgumentHelp(
            "Print what is stored about the accounts, without tokens and names, for a support case.",
            discussion: "Read it before you send it: identifiers of the accounts and tenants are in it."
        )
    )
    var support = false

    func validate() throws {
        if support, newDefault != nil { throw ValidationError("Give one of --default and --support.") }
    }

    var clientOptions: ProviderOptions? { provider }
    var readsSignIns: Bool { true }
    var isAboutSignIns: Bool { true }

    var sharedOptions: SharedOptions { SharedOptions(provider) }

    func run(in session: Session) async throws {
        let application = try session.application(provider)
        if let newDefault {
            guard !newDefault.isEmpty else { throw UsageError("--default: the value is empty.") }
            let account = try await application.chosenAccount(Given(text: newDefault, origin: "--default"))
            try await application.setCurrentAccount(account)
            session.console.line("\(account.label) is the default account.")
            guard let profile = session.environment.profile, session.setAccountOfProfile(ProfileAccount(of: account))
            else { return }
            return session.console.line("The profile '\(profile.name)' uses it.")
        }
        if support { return try session.result(try await application.supportReport() + "\n") }
        let accounts = try await session.listing { try await application.allAccounts() }
        let chosen = accounts.count > 1 ? try await application.defaultAccount() : accounts.first
        if session.isJSON {
            try session.result(JSONReport.accounts(accounts, default: chosen).line + "\n")
        } else {
            if accounts.isEmpty { session.console.line("No account is signed in.") }
            let isForPerson = StandardStream.output.isTerminal
            let isNameless = isForPerson && accounts.contains { $0.username == nil && $0.displayName == nil }
            try session.result(
                PlainReport.accounts(
                    accounts,
                    default: accounts.count > 1 ? chosen : nil,
                    namelessAs: isNameless ? await entries(session.environment) : nil,
                    inColumns: isForPerson
                )
            )
        }
    }

    /// The entries of AI programs that use these accounts; `nil` for none. A server that says nothing about its people is known by
    /// them.
    private func entries(_ environment: Variables) async -> String? {
        guard let profile = environment.profile, let home = try? Home(environment) else { return nil }
        var found: [String] = []
        for tool in IntegratedTool.all where tool.asks == .servers {
            // A file that cannot be read names nothing.
            for use in (try? await tool.integration(in: home).uses()) ?? [] {
                let isOurs =
                    use.profile.map { $0 == profile.name.text }
                    ?? use.resource.map { (try? profile.reaches($0)) == true }
                if isOurs == true { found.append("\(tool.name): \(use.text)") }
            }
        }
        return found.isEmpty ? nil : found.joined(separator: ", ")
    }
}
