// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityClient
import IdentityKeyring

/// The command that takes accounts over from another program.
struct ImportCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Takes the accounts over from a program that uses Microsoft's libraries.",
        discussion: """
            Copies the tokens of the client into the store that --cache names; the other program's file stays as it is. \
            An account that is signed in already stays too. Later changes of one are not seen by the other: to share the \
            file, name it with --cache msal:FILE instead.
            """
    )

    @OptionGroup var provider: ProviderOptions
    @OptionGroup var output: OutputOptions

    @Option(
        help: ArgumentHelp(
            "azure-cli; azure-identity-python or azure-identity-dotnet (their unencrypted file); or msal:FILE.",
            valueName: "program"
        ),
        completion: .list(["azure-cli", "azure-identity-python", "azure-identity-dotnet", "msal:"])
    )
    var from: String

    var clientOptions: ProviderOptions? { provider }

    var sharedOptions: SharedOptions { SharedOptions(provider) }

    func run(in session: Session) async throws {
        let store = try Self.store(Given(text: from, origin: "--from"), session.environment)
        let configuration = try provider.configuration(
            session.environment,
            prompting: session.environment.hasScreen ? .allowed() : .never,
            passPhrases: session.passPhrases,
            logger: session.logger
        )
        let application = try session.application(configuration)
        let source = try SharedMSALCache(.readOnly(store.path), clientID: configuration.clientID)
        let accounts = try await application.importAccounts(from: source)
        for account in accounts {
            session.console.line(
                account.isNew
                    ? "Took over \(account.account.label)." : "\(account.account.label) is signed in already."
            )
        }
        if accounts.isEmpty {
            session.console.line(
                "\(store.path.printable) has no account of this client and provider. Sign in: identityctl login"
            )
            throw Ended(status: .interactionRequired)
        }
    }

    /// Returns the file that `--from` names.
    static func store(_ given: Given, _ environment: Environment) throws -> MSALStore {
        switch given.text {
        case "azure-cli": try .azureCLI()
        case "azure-identity-python": try .azureIdentityPython()
        case "azure-identity-dotnet": try .azureIdentityDotNet()
        case let text where text.hasPrefix("msal:") && text.utf8.count > 5:
            .file(try CacheChoice.absolute(String(text.dropFirst(5)), home: environment["HOME"], given))
        default:
            throw given.error(
                "'\(given.text.printable)' is no program. Possible are azure-cli, azure-identity-python, "
                    + "azure-identity-dotnet and msal:FILE."
            )
        }
    }
}
