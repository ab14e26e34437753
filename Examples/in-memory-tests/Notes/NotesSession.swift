// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityClient

/// The sign-in of the notes app, and the only part of the app that knows how people sign in.
public struct NotesSession: Sendable {
    /// The state that the app shows.
    public enum Status: Equatable, Sendable {
        /// The account is signed in, and requests to the server can be sent.
        case signedIn(name: String)
        /// The account is signed in, but its token cannot be renewed until the server can be reached again.
        case offline(name: String)
        /// A sign-in is needed. Show a button that calls ``NotesSession/signIn()``.
        case signInNeeded
    }

    private let app: PublicClientApplication
    private let scopes: Set<Scope> = ["notes.read"]

    /// Creates a session from a configuration made elsewhere, so that tests can play the provider, the person, the
    /// network and the time. The app needs three lines: client id, authority and `FileTokenCache()`.
    public init(_ configuration: ClientConfiguration) throws {
        app = try PublicClientApplication(configuration)
    }

    /// Returns the state of the sign-in. Never opens the browser.
    public func status() async throws -> Status {
        guard let account = try await app.allAccounts().first else { return .signInNeeded }
        let name = account.username ?? "Unknown"
        do {
            _ = try await app.acquireTokenSilently(scopes: scopes, account: account)
            return .signedIn(name: name)
        } catch let error as AuthenticationError where error.family == .interactionRequired {
            return .signInNeeded
        } catch let error as AuthenticationError where [.network, .serverUnavailable].contains(error.family) {
            return .offline(name: name)
        }
    }

    /// Adds the header field with the token to a request to the notes server. Never opens the browser; call it for every
    /// request.
    public func authorize(_ request: inout HTTPRequest) async throws {
        guard let account = try await app.allAccounts().first else {
            throw AuthenticationError(.noTokensFound, "No account is signed in. Sign in first.")
        }
        try await app.acquireTokenSilently(scopes: scopes, account: account).authorize(&request)
    }

    /// Signs in through the browser, which suggests the previous account.
    public func signIn() async throws {
        var parameters = InteractiveParameters(scopes: scopes)
        parameters.loginHint = try await app.allAccounts().first?.username
        parameters.whenPending = .supersede
        _ = try await app.acquireTokenInteractively(parameters)
    }

    /// Removes the person's tokens from this computer.
    public func signOut() async throws {
        for account in try await app.allAccounts() { try await app.remove(account) }
    }
}
