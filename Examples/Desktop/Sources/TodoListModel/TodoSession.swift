// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import IdentityClient

/// The program's sign-in: signs people in and out, with the policies of the settings.
public final class TodoSession: Sendable {
    /// The person's task in the browser.
    public enum Step: Sendable {
        case signingIn
        case resettingPassword
        case editingProfile
    }

    /// A function that shows a page in the browser: the application object alone, or a window that reports it
    /// meanwhile.
    public typealias Visit =
        @Sendable (PublicClientApplication, InteractiveParameters, Step) async throws -> AuthenticationResult

    /// The settings of the session.
    public let settings: TodoSettings

    /// The application object that acquires the tokens.
    public let application: PublicClientApplication

    /// Creates a session without sending or reading anything yet.
    ///
    /// - Parameter change: Changes the configuration that the settings give.
    /// - Throws: `AuthenticationError.configuration` if the client id is invalid; the errors of `change`.
    public init(
        settings: TodoSettings,
        cache: any TokenCache,
        _ change: (inout ClientConfiguration) throws -> Void = { _ in }
    ) throws {
        var configuration = ClientConfiguration(
            clientID: settings.clientID,
            authority: settings.signIn.authority,
            cache: cache
        )
        configuration.cacheGroup = settings.cacheGroup
        configuration.redirectURI = settings.redirectURI
        try change(&configuration)
        self.settings = settings
        application = try PublicClientApplication(configuration)
    }

    /// Returns the account signed in by an earlier run or by another program of the group; `nil` if no account is
    /// signed in.
    ///
    /// A person who only reset the password and then left is not signed in.
    ///
    /// - Throws: `AuthenticationError.cache` if the tokens cannot be read; `CancellationError`.
    public func account() async throws -> Account? {
        let signedIn = try await application.allAccounts().filter { account in
            account.tenantProfiles.contains { $0.policy == settings.signIn.name }
        }
        guard signedIn.count > 1 else { return signedIn.first }
        // Other programs of the group may have other accounts. If no account was chosen here, any account will do.
        let current = try? await application.currentAccount().current
        return signedIn.first { $0.id == current?.id } ?? signedIn.first
    }

    /// Signs a person in. If they forgot the password, the policy that resets it comes first.
    ///
    /// - Parameter visit: Shows a page.
    /// - Throws: The errors of `acquireTokenInteractively`.
    public func signIn(visit: Visit = TodoSession.visit) async throws -> Account {
        var parameters = parameters(for: settings.signIn)
        do {
            return try await visit(application, parameters, .signingIn).account
        } catch let error as AuthenticationError where error.code == .passwordResetRequired {
            guard let policy = settings.resetPassword else { throw AuthenticationError.noResetPolicy }
            let person = try await visit(application, self.parameters(for: policy), .resettingPassword).account
            // The browser usually remembers the person who reset the password, and shows no page.
            parameters.loginHint = person.username
            return try await visit(application, parameters, .signingIn).account
        }
    }

    /// Lets the person edit the profile, and returns the changed account.
    ///
    /// - Throws: The errors of `acquireTokenInteractively`; `.configuration` if there is no such policy.
    public func editProfile(of account: Account, visit: Visit = TodoSession.visit) async throws -> Account {
        guard let policy = settings.editProfile else {
            throw AuthenticationError(.configuration, "The settings name no policy that edits profiles.")
        }
        var parameters = parameters(for: policy)
        parameters.account = account
        _ = try await visit(application, parameters, .editingProfile)
        // The sign-in policy has its own token, which still contains the old name.
        var renewed = SilentParameters(scopes: settings.scopes, account: account)
        renewed.forcesRefresh = true
        return try await application.acquireTokenSilently(renewed).account
    }

    /// Signs the person out of this program and of all other programs of the group. The next sign-in asks for the
    /// account.
    ///
    /// - Throws: `AuthenticationError.cache` if the tokens cannot be removed; `CancellationError`.
    public func signOut(_ account: Account) async throws {
        try await application.signOut(account)
    }

    /// A visit that shows a page without any report.
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
