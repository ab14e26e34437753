// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import IdentityClient
import IdentityKeyring
import OAuthWire

/// The command that signs out.
struct LogoutCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout",
        abstract: "Signs an account out on this computer: removes its tokens.",
        discussion: """
            Needs no network without --revoke (the provider revokes the refresh token) and --end-session (the browser shows \
            the provider's sign-out page). The account is removed from this computer first, even if these fail.
            """
    )

    @OptionGroup var provider: ProviderOptions
    @OptionGroup var account: AccountOption
    @OptionGroup var browser: BrowserOption
    @OptionGroup var output: OutputOptions

    @Flag(help: "Sign out all accounts that 'identityctl accounts' lists.")
    var all = false

    @Flag(
        help: ArgumentHelp(
            "Sign out every account: of all profiles and resources, and whoever else is in the store; and revoke the refresh tokens.",
            discussion:
                "The store is that of --cache, or your usual one, with the accounts of other programs in it. Tells what could not be "
                + "revoked, and goes on. For a computer that is lost, given away or shared."
        )
    )
    var everywhere = false

    @Flag(help: "Remove the tokens of all accounts without reading them, if their keyring or key is gone.")
    var discard = false

    @Flag(help: "Make the provider revoke the refresh token.")
    var revoke = false

    @Flag(help: "End the browser's session with the provider, too.")
    var endSession = false

    @Option(
        help: ArgumentHelp(
            "With --end-session: a registered address to which the browser returns.",
            valueName: "uri"
        )
    )
    var postLogoutRedirectURI: String?

    func validate() throws {
        guard !all || account.account == nil else {
            throw ValidationError("Give one of --account and --all, not both.")
        }
        guard !everywhere || !(all || discard || account.account != nil || revoke) else {
            throw ValidationError(
                "--everywhere signs all out and revokes: leave --account, --all, --revoke and --discard out."
            )
        }
        guard !discard || !(all || account.account != nil || revoke || endSession) else {
            throw ValidationError("--discard reads no tokens: leave --account, --all, --revoke and --end-session out.")
        }
    }

    var clientOptions: ProviderOptions? { provider }
    var readsSignIns: Bool { true }
    var isAboutSignIns: Bool { true }

    var sharedOptions: SharedOptions { provider.shared(nil, account) }

    func run(in session: Session) async throws {
        try refuseUnusedOptions(session.environment)
        if everywhere { return try await signOutEverywhere(session) }
        if discard || all { giveUpPendingSignIns(session) }
        if discard { return try await discardTokens(session) }
        let wanted = all ? nil : try session.environment.given("account", account.account)
        let application = try session.application(provider) { configuration in
            configuration.browser = signOutBrowser(try browser.command(session.environment), session.console)
            configuration.redirectReceiver = LoopbackRedirectReceiver(applicationName: "identityctl")
        }
        let parameters = try signOutParameters(session.environment)
        let accounts = try await session.listing { try await accountsToSignOut(application, wanted) }
        // A name that fits no account changes nothing.
        if !all, wanted == nil || !accounts.isEmpty { giveUpPendingSignIns(session) }
        var reports: [JSONObject] = []
        var failure: AuthenticationError?
        var isUnavailable = false
        let outcome: Result<Void, any Error>
        do {
            for account in accounts {
                let result = try await signOut(account, parameters, application, session)
                session.signedOutOfProfile { $0.id == account.id.rawValue }
                reports.append(JSONReport.signOut(account, result))
                failure = failure ?? result.failure
                if case .unavailable = result.revocation { isUnavailable = true }
            }
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        if session.isJSON { try session.result(reports.line + "\n") }
        try outcome.get()
        if let failure {
            // Text for people already reported the failure with its account.
            guard session.isJSON else { throw Ended(status: ExitStatus(for: failure)) }
            throw failure
        }
        guard !isUnavailable else { throw Ended(status: .revocationUnavailable) }
        guard accounts.isEmpty else { return }
        session.signedOutOfProfile { own in wanted.map { $0.account == own } ?? true }
        let missing = wanted.map { "'\($0.label)' is not signed in; nothing was changed." }
        session.console.line(missing ?? "No account is signed in.")
    }

    func signOutBrowser(_ command: [String]?, _ console: Console) -> SignOutBrowser {
        SignOutBrowser(
            launcher: SystemBrowserLauncher(command: command, withholding: Variables.secrets),
            console: console
        )
    }

    /// Gives up what `login --start` began: it would sign in again.
    private func giveUpPendingSignIns(_ session: Session) {
        // What cannot be read now is reported by the sign-out itself, which needs the same.
        guard let configuration = try? provider.configuration(session.environment),
            let pending = try? PendingSignIns(configuration), pending.removeAll()
        else { return }
        session.console.line("A sign-in that was begun with --start is given up.")
    }

    /// Removes the tokens of the client or group, even if their store is damaged.
    private func discardTokens(_ session: Session) async throws {
        guard try provider.cacheChoice(session.environment).policy != nil else {
            throw UsageError(
                "--discard is about the stores auto, keyring, file and encrypted:…. Use --all, or remove the directory."
            )
        }
        let (cache, group) = try provider.desktopCache(session)
        let (store, isRemoved) = try await cache.discard(group)
        session.signedOutOfProfile { _ in true }
        guard let store else { return try session.done("There were no tokens.") }
        try session.done("The tokens in '\(store)' are given up. The next sign-in chooses a store.")
        if !isRemoved {
            session.console.line(
                "Warning: the keyring could not be reached, and still has its items (\"identityctl\")."
            )
        }
    }

    /// Signs out one account and reports it, even if the rest of the command is cut off.
    func signOut(
        _ account: Account,
        _ parameters: SignOutParameters,
        _ application: PublicClientApplication,
        _ session: Session
    ) async throws -> SignOutResult {
        do {
            let result = try await application.signOut(account, parameters: parameters)
            session.console.line("Signed out \(account.shortLabel).")
            for line in PlainReport.signOut(result) { session.console.line(line) }
            return result
        } catch let error as CancellationError where parameters.asksProvider {
            // A separate task, because the current task is cancelled.
            let isGone = Task { try await application.account(withID: account.id) == nil }
            if try await isGone.value {
                session.console.line("Signed out \(account.shortLabel). The provider was not asked to the end.")
            }
            throw error
        }
    }

    func signOutParameters(_ environment: Variables) throws -> SignOutParameters {
        var parameters = SignOutParameters()
        parameters.revokesTokens = try environment.isOn("revoke", revoke)
        parameters.endsBrowserSession = try environment.isOn("end-session", endSession)
        parameters.postLogoutRedirectURI = try environment.given("post-logout-redirect-uri", postLogoutRedirectURI)
            .map { try SignInOptions.loopback($0, ports: nil) }
        return parameters
    }

    /// Refuses the options of the sign-out page if no page is opened. Their variables may be set for other sign-outs.
    func refuseUnusedOptions(_ environment: Variables) throws {
        guard try !environment.isOn("end-session", endSession) else { return }
        let values = [("--browser", browser.browser), ("--post-logout-redirect-uri", postLogoutRedirectURI)]
        let ignored = values.filter { $0.1 != nil }.map(\.0)
        guard !ignored.isEmpty else { return }
        throw UsageError("\(ignored.joined(separator: ", ")): of use with --end-session only, which opens a page.")
    }

    /// Returns the accounts that the command signs out. An account that is not signed in is not an error.
    private func accountsToSignOut(_ application: PublicClientApplication, _ wanted: Given?) async throws -> [Account] {
        if all { return try await application.allAccounts() }
        do {
            return [try await application.chosenAccount(wanted, takesDefault: false)]
        } catch AuthenticationError.Code.noTokensFound {
            return []
        }
    }
}

extension SignOutParameters {
    /// Whether the sign-out sends a request to the provider or opens its page.
    fileprivate var asksProvider: Bool { revokesTokens || endsBrowserSession }
}

extension SignOutResult {
    /// The error of the first part that failed.
    var failure: AuthenticationError? {
        for outcome in [revocation, browserSession] {
            if case .failed(let error) = outcome { return error }
        }
        return nil
    }
}

/// A launcher for the sign-out page. If no browser could be opened, it shows the page's address to the person at the
/// terminal. The address may hold the ID token, and so is not written to output that may be logged.
struct SignOutBrowser: BrowserLauncher {
    let launcher: any BrowserLauncher
    let console: Console

    func open(_ url: URL) async throws {
        do {
            try await launcher.open(url)
        } catch let failure as AuthenticationError {
            guard console.isTerminal else {
                throw failure.saying(failure.code, "\(failure.message) At a terminal, this command shows the address.")
            }
            console.line("\(failure.message.printable) Open this address in a browser:")
            console.line("")
            console.line("  \(url.absoluteString)")
            console.line("")
        }
    }
}
