// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import IdentityClient

/// Who uses the program: signs people in and out, with the policies of the settings.
public final class TodoSession: Sendable {
    /// What the person is asked to do in the browser.
    public enum Step: Sendable {
        case signingIn
        case resettingPassword
        case editingProfile
    }

    /// How a page is shown in the browser: by the application object itself, or by a window that says so meanwhile.
    public typealias Visit =
        @Sendable (PublicClientApplication, InteractiveParameters, Step) async throws -> AuthenticationResult

    /// What the session is made of.
    public let settings: TodoSettings

    /// What acquires the tokens.
    public let application: PublicClientApplication

    /// Makes a session; nothing is asked or read yet.
    ///
    /// - Parameter change: Changes the configuration, for tests.
    /// - Throws: `AuthenticationError.configuration` for a client id that is none.
    public init(
        settings: TodoSettings,
        cache: any TokenCache,
        _ change: (inout PublicClientApplication.Configuration) -> Void = { _ in }
    ) throws {
        var configuration = PublicClientApplication.Configuration(
            clientID: settings.clientID,
            authority: settings.signIn.authority,
            cache: cache
        )
        configuration.cacheGroup = settings.cacheGroup
        configuration.redirectURI = settings.redirectURI
        change(&configuration)
        self.settings = settings
        application = try PublicClientApplication(configuration)
    }

    /// Who is signed in from an earlier run, or in another program of the group; `nil` when nobody is.
    ///
    /// Whoever only reset the password, and went away then, is not.
    ///
    /// - Throws: `AuthenticationError.cache` when the tokens cannot be read; `CancellationError`.
    public func account() async throws -> Account? {
        let signedIn = try await application.allAccounts().filter { account in
            account.tenantProfiles.contains { $0.policy == settings.signIn.name }
        }
        guard signedIn.count > 1 else { return signedIn.first }
        // Other programs of the group have people of their own. Where none was chosen here, any is as good.
        let current = try? await application.currentAccount().current
        return signedIn.first { $0.id == current?.id } ?? signedIn.first
    }

    /// Signs somebody in. Where the person forgot the password, the policy that resets it comes first.
    ///
    /// - Parameter visit: Shows a page.
    /// - Throws: As `acquireTokenInteractively`.
    public func signIn(visit: Visit = TodoSession.visit) async throws -> Account {
        var parameters = parameters(for: settings.signIn)
        do {
            return try await visit(application, parameters, .signingIn).account
        } catch AuthenticationError.Code.passwordResetRequired {
            guard let policy = settings.resetPassword else { throw AuthenticationError.noResetPolicy }
            let person = try await visit(application, self.parameters(for: policy), .resettingPassword).account
            // The browser mostly remembers who reset the password, and shows no page.
            parameters.loginHint = person.username
            return try await visit(application, parameters, .signingIn).account
        }
    }

    /// Lets the person edit the profile; gives the account as it is then.
    ///
    /// - Throws: As `acquireTokenInteractively`; `.configuration` where there is no such policy.
    public func editProfile(of account: Account, visit: Visit = TodoSession.visit) async throws -> Account {
        guard let policy = settings.editProfile else {
            throw AuthenticationError(.configuration, "The settings name no policy that edits profiles.")
        }
        var parameters = parameters(for: policy)
        parameters.account = account
        _ = try await visit(application, parameters, .editingProfile)
        // The policy that signs in has a token of its own, which still tells the old name.
        let renewed = SilentParameters(scopes: settings.scopes, account: account, forcesRefresh: true)
        return try await application.acquireTokenSilently(renewed).account
    }

    /// Signs the person out of this program and of all others of the group. The next sign-in asks who it is.
    ///
    /// - Throws: `AuthenticationError.cache` when the tokens cannot be removed; `CancellationError`.
    public func signOut(_ account: Account) async throws {
        try await application.signOut(account)
    }

    /// Shows a page without a word about it.
    public static let visit: Visit = { application, parameters, _ in
        try await application.acquireTokenInteractively(parameters)
    }

    private func parameters(for policy: B2CPolicy) -> InteractiveParameters {
        var parameters = InteractiveParameters(scopes: settings.scopes)
        parameters.authority = policy.authority
        parameters.whenPending = .supersede
        return parameters
    }
}

extension AuthenticationError {
    fileprivate static var noResetPolicy: AuthenticationError {
        AuthenticationError(
            .passwordResetRequired,
            "The settings name no policy that resets passwords (resetPasswordPolicy): reset it at the provider."
        )
    }
}
