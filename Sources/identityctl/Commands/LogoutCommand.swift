// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityClient
import OAuthWire

/// Signing out.
struct LogoutCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout",
        abstract: "Signs an account out on this computer: its tokens are gone.",
        discussion: """
            Needs no network, unless the provider is told as well: with --revoke it takes the refresh token back, and with \
            --end-session the browser shows its sign-out page. The account is gone from this computer first, whatever \
            becomes of that.
            """
    )

    @OptionGroup var provider: ProviderOptions
    @OptionGroup var account: AccountOption
    @OptionGroup var output: OutputOptions

    @Flag(help: "Sign everyone out whom 'identityctl accounts' lists.")
    var all = false

    @Flag(help: "Have the provider take the refresh token back.")
    var revoke = false

    @Flag(help: "End the browser's session with the provider, too.")
    var endSession = false

    @Option(
        help: ArgumentHelp(
            "With --end-session: where the browser comes back to, if it is registered.",
            valueName: "uri"
        )
    )
    var postLogoutRedirectURI: String?

    @Option(
        help: ArgumentHelp("Run this with the address as its last argument, without a shell.", valueName: "command")
    )
    var browser: String?

    func validate() throws {
        guard !all || account.account == nil else {
            throw ValidationError("Give one of --account and --all, not both.")
        }
    }

    func run(in session: Session) async throws {
        let wanted = all ? nil : try session.environment.given("account", account.account)
        var configuration = try provider.configuration(session.environment, logger: session.logger)
        var signIn = SignInOptions()
        signIn.browser = browser
        configuration.browser = SystemBrowserLauncher(command: try signIn.browserCommand(session.environment))
        configuration.redirectReceiver = LoopbackRedirectReceiver(applicationName: "identityctl")
        let parameters = try signOutParameters(session.environment)
        let application = try session.application(configuration)
        let accounts = try await leaving(application, wanted)
        var reports: [JSONObject] = []
        var failure: AuthenticationError?
        for account in accounts {
            let result = try await application.signOut(account, parameters)
            session.console.line("Signed out \(account.shortLabel).")
            for line in PlainReport.signOut(result) { session.console.line(line) }
            reports.append(JSONReport.signOut(account, result))
            failure = failure ?? result.failure
        }
        if session.isJSON, parameters.revokesTokens || parameters.endsBrowserSession {
            try session.result(reports.line + "\n")
        }
        if let failure { throw Ended(status: ExitStatus(for: failure)) }
        guard accounts.isEmpty else { return }
        let whom = wanted.map { "'\($0.text.printable)'" } ?? "Nobody"
        session.console.line(wanted == nil ? "\(whom) is signed in." : "\(whom) is not signed in; nothing was changed.")
    }

    private func signOutParameters(_ environment: Environment) throws -> SignOutParameters {
        var parameters = SignOutParameters()
        parameters.revokesTokens = try environment.isOn("revoke", revoke)
        parameters.endsBrowserSession = try environment.isOn("end-session", endSession)
        parameters.postLogoutRedirectURI = try environment.given("post-logout-redirect-uri", postLogoutRedirectURI)
            .map { try SignInOptions.loopback($0, ports: nil) }
        return parameters
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

extension SignOutResult {
    /// The first part that failed.
    fileprivate var failure: AuthenticationError? {
        for outcome in [revocation, browserSession] {
            if case .failed(let error) = outcome { return error }
        }
        return nil
    }
}
