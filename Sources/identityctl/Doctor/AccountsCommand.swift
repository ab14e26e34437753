// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityClient

/// The command that lists the accounts that are signed in.
struct AccountsCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "accounts",
        abstract: "Lists the signed-in accounts, or with --all each sign-in and its state.",
        discussion: """
            With --all, or if nothing names a client, each profile and each known resource has a line: the person, the profile or \
            resource, and the state of the sign-in. 'good until' is the end of the last token; 'not asked' means that it has ended \
            and can probably be renewed; 'ended since' is when the provider refused that. The provider is not asked.

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

    @Flag(help: "List the sign-ins of all profiles and resources, with the state of each.")
    var all = false

    func validate() throws {
        if all, support || newDefault != nil {
            throw ValidationError("--all goes with neither --default nor --support.")
        }
        if support, newDefault != nil { throw ValidationError("Give one of --default and --support.") }
    }

    var clientOptions: ProviderOptions? { provider }
    var readsSignIns: Bool { true }
    var isAboutSignIns: Bool { true }

    var sharedOptions: SharedOptions { provider.shared() }

    /// Whether everything is listed: it is asked for, or nothing names a client.
    private func listsAll(_ session: Session) throws -> Bool {
        let environment = session.environment
        guard !all, newDefault == nil, !support else { return all }
        return try environment.profile == nil && !provider.namesOne(environment)
            && environment.given("resource", provider.resource) == nil
            && environment.given("profile", provider.profile) == nil
            && environment.given("group", provider.group) == nil
    }

    private func list(_ rows: [SignInOverview.Row], _ session: Session) throws {
        if session.isJSON { return try session.result(rows.map(\.report).line + "\n") }
        if rows.isEmpty {
            session.console.line(
                "There is no profile and no known resource. To begin: identityctl setup. "
                    + "Sign-ins without a profile are listed by their own options, such as --client-id."
            )
            session.tellOfMistypedVariables()
        }
        try session.result(rows.text(inColumns: StandardStream.output.isTerminal))
    }

    func run(in session: Session) async throws {
        if try listsAll(session) { return try list(await SignInOverview(session: session).rows(), session) }
        let application = try session.application(provider)
        if let newDefault {
            guard !newDefault.isEmpty else { throw UsageError("--default: the value is empty.") }
            let account = try await application.chosenAccount(Given(text: newDefault, origin: "--default"))
            try await application.setCurrentAccount(account)
            let profile = session.environment.profile?.name
            let isProfiles = session.setAccountOfProfile(ProfileAccount(of: account))
            let use = isProfiles ? profile.map { " The profile '\($0)' uses it." } : nil
            return try session.done("\(account.label) is the default account.\(use ?? "")")
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
                    ?? use.resource.map { (try? TokenReach(of: profile).includes($0)) == true }
                if isOurs == true { found.append("\(tool.name): \(use.text)") }
            }
        }
        return found.isEmpty ? nil : found.joined(separator: ", ")
    }
}
