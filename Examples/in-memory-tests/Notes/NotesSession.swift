// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

/// Who uses the notes app: the only part of the app that knows how people sign in.
public struct NotesSession: Sendable {
    /// What the app shows.
    public enum Status: Equatable, Sendable {
        /// All is well, and the server can be asked.
        case signedIn(name: String)
        /// Somebody is signed in, but their token cannot be renewed before the server can be reached again.
        case offline(name: String)
        /// Show a button that calls ``NotesSession/signIn()``.
        case signInNeeded
    }

    private let app: PublicClientApplication
    private let scopes: Set<Scope> = ["notes.read"]

    /// Starts from a configuration that is made elsewhere, so that tests can play the provider, the person, the network
    /// and the time. In the app it is three lines: client id, authority and `FileTokenCache()`.
    public init(_ configuration: PublicClientApplication.Configuration) throws {
        app = try PublicClientApplication(configuration)
    }

    /// Who uses the app. Never opens the browser.
    public func status() async throws -> Status {
        guard let account = try await app.allAccounts().first else { return .signInNeeded }
        let name = account.username ?? "Somebody"
        do {
            _ = try await app.acquireTokenSilently(scopes: scopes, account: account)
            return .signedIn(name: name)
        } catch AuthenticationError.interactionRequired {
            return .signInNeeded
        } catch AuthenticationError.network, AuthenticationError.serverUnavailable {
            return .offline(name: name)
        }
    }

    /// What goes into the `Authorization` header of a request to the notes server. Never opens the browser; ask for it
    /// with every request.
    public func authorizationHeader() async throws -> String {
        guard let account = try await app.allAccounts().first else {
            throw AuthenticationError(.noTokensFound, "Nobody is signed in.")
        }
        return try await app.acquireTokenSilently(scopes: scopes, account: account).authorizationHeader
    }

    /// Opens the browser. Whoever used the app before is suggested.
    public func signIn() async throws {
        var parameters = InteractiveParameters(scopes: scopes)
        parameters.loginHint = try await app.allAccounts().first?.username
        parameters.whenPending = .supersede
        _ = try await app.acquireTokenInteractively(parameters)
    }

    /// Forgets the person's tokens on this computer.
    public func signOut() async throws {
        for account in try await app.allAccounts() { try await app.remove(account) }
    }
}
