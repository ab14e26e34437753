// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityClient
import IdentityKeyring
import IdentityMSALCaches
import IdentityMSALKeyring

/// The command that takes accounts over from another program.
struct ImportCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Takes accounts over: from a program that uses Microsoft's libraries, or by a refresh token.",
        discussion: """
            With --from, copies the tokens of the client into the store that --cache names; the other program's file stays \
            as it is. An account that is signed in already stays too. Later changes of one are not seen by the other: to \
            share the file or item, name it with --cache msal:FILE or --cache msal-keyring:ITEM instead.

            With --refresh-token-file, redeems the refresh token of another program at once, and stores what the provider \
            answers as a sign-in. If the provider refuses the token, nothing is stored. If the answer cannot be stored, the \
            status is 11: the provider may have ended the token in the file. The file stays as it is: delete it afterwards.

            With --device-secret, signs you in by the sign-in of another program of the same publisher, whose tokens are in \
            the same --group, without a browser (Native SSO). That program has signed in with the scope device_sso.
            """
    )

    @OptionGroup var provider: ProviderOptions
    @OptionGroup var account: AccountOption
    @OptionGroup var output: OutputOptions

    @Option(
        help: ArgumentHelp(
            "azure-cli; azure-identity-python or azure-identity-dotnet (their unencrypted file); msal:FILE; or keyring: with a "
                + "program or the attributes of an item.",
            valueName: "program"
        ),
        completion: .list(
            ["azure-cli", "azure-identity-python", "azure-identity-dotnet", "msal:"]
                + MSALKeyringItem.named.keys.sorted().map { "keyring:" + $0 }
        )
    )
    var from: String?

    @Option(
        help: ArgumentHelp(
            "The file with a refresh token of the same client, and nothing else; - for standard input.",
            valueName: "file"
        ),
        completion: .file()
    )
    var refreshTokenFile: String?

    @Option(
        name: .customLong("scope"),
        help: ArgumentHelp(
            "With --refresh-token-file and --device-secret: a scope of the first access token. Repeatable.",
            valueName: "scope"
        )
    )
    var scopes: [String] = []

    @Flag(help: "Sign in by the device secret of another program of the group.")
    var deviceSecret = false

    @Option(
        help: ArgumentHelp("With --device-secret: the provider's name for the type of the secret.", valueName: "uri")
    )
    var deviceSecretType: String?

    @Option(help: ArgumentHelp("With --device-secret: the provider's name for itself.", valueName: "name"))
    var audience: String?

    var clientOptions: ProviderOptions? { provider }

    var sharedOptions: SharedOptions { provider.shared(nil, account) }

    func run(in session: Session) async throws {
        guard deviceSecret || [account.account, deviceSecretType, audience].allSatisfy({ $0 == nil }) else {
            throw UsageError("--account, --device-secret-type and --audience are for --device-secret.")
        }
        switch (from, refreshTokenFile, deviceSecret) {
        case (let from?, nil, false): try await takeOver(Given(text: from, origin: "--from"), in: session)
        case (nil, let file?, false): try await redeem(Given(text: file, origin: "--refresh-token-file"), in: session)
        case (nil, nil, true): try await share(in: session)
        default: throw UsageError("Give one of --from, --refresh-token-file and --device-secret.")
        }
    }

    private func share(in session: Session) async throws {
        let scopes = Set(try session.environment.words("scope", scopes).map(Scope.init(rawValue:)))
        let application = try application(in: session)
        let account = try await application.chosenAccount(session.environment.given("account", account.account))
        let type = try deviceSecretType.map {
            try SecurityToken.TypeIdentifier(Given(text: $0, origin: "--device-secret-type"))
        }
        let result = try await application.acquireToken(
            byDeviceSecretOf: account,
            scopes: scopes,
            secretType: type ?? .deviceSecret,
            audience: audience
        )
        if let failure = await session.storageFailure(of: result) { throw failure.ofAWrite }
        try session.done("Signed in as \(result.account.shortLabel).")
        await session.keepAccountOfProfile(result.account, provider, application)
    }

    private func takeOver(_ from: Given, in session: Session) async throws {
        let application = try application(in: session)
        let accounts = try await application.importAccounts(from: Self.source(from, application.configuration, session))
        guard !accounts.isEmpty else {
            throw AuthenticationError(
                .noTokensFound,
                "\(from.text.printable) has no account of this client and provider."
            )
        }
        let texts = accounts.map { account in
            account.isNew ? "Took over \(account.account.label)." : "\(account.account.label) is signed in already."
        }
        try session.done(texts.joined(separator: session.isJSON ? " " : "\n"))
        if accounts.count == 1 {
            await session.keepAccountOfProfile(accounts[0].account, provider, application)
        }
    }

    private func redeem(_ file: Given, in session: Session) async throws {
        let scopes = Set(try session.environment.words("scope", scopes).map(Scope.init(rawValue:)))
        let application = try application(in: session)
        let result = try await application.acquireToken(byRefreshToken: TokenInput.token(in: file), scopes: scopes)
        if let failure = await session.storageFailure(of: result) {
            let loss = AuthenticationError(
                failure.code,
                "\(result.account.label) was not taken over: the provider's answer could not be stored, and the provider may "
                    + "have ended the refresh token in \(file.text.printable). \(failure.ofAWrite.message) Then import once more; "
                    + "if the provider refuses the token, sign in: identityctl login",
                correlationID: failure.correlationID,
                underlyingError: failure
            )
            session.report(loss)
            throw Ended(status: .notStored)
        }
        try session.done("Took over \(result.account.label).")
        await session.keepAccountOfProfile(result.account, provider, application)
    }

    private func application(in session: Session) throws -> PublicClientApplication {
        try session.application(provider, prompting: session.environment.hasScreen ? .allowed() : .never)
    }

    /// Returns what `--from` names, to be read.
    private static func source(
        _ from: Given,
        _ configuration: ClientConfiguration,
        _ session: Session
    ) async throws -> any TokenCache {
        let clientID = configuration.clientID
        guard from.text.hasPrefix("keyring:") else {
            return try SharedMSALCache(.readOnly(store(from, session.environment).path), clientID: clientID)
        }
        let keyring = KeyringTokenCache(
            applicationName: "identityctl",
            prompting: session.environment.hasScreen ? .allowed() : .never
        )
        return SharedMSALKeyringCache(
            try MSALKeyringItem(String(from.text.dropFirst(8)), home: session.environment["HOME"], from),
            clientID: clientID,
            keyring: keyring,
            others: InMemoryTokenCache()
        )
    }

    /// Returns the file that `--from` names.
    static func store(_ given: Given, _ environment: Variables) throws -> MSALLocation {
        switch given.text {
        case "azure-cli": try .azureCLI()
        case "azure-identity-python": try .azureIdentityPython()
        case "azure-identity-dotnet": try .azureIdentityDotNet()
        case let text where text.hasPrefix("msal:") && text.utf8.count > 5:
            .file(try CacheChoice.absolute(String(text.dropFirst(5)), home: environment["HOME"], given))
        default:
            throw given.error(
                "'\(given.text.printable)' is no program. Possible are azure-cli, azure-identity-python, "
                    + "azure-identity-dotnet, msal:FILE and keyring:."
            )
        }
    }
}
