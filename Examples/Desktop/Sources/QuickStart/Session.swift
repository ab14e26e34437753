// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import Foundation
import IdentityClient
import IdentityResources

/// The steps of the quick start, with the library's calls.
struct Session: Sendable {
    let application: PublicClientApplication
    let graphURL: URL
    let scopes: Set<Scope>

    /// Whether signing out of the program also ends the browser's session.
    let endsBrowserSession: Bool

    /// The accounts as the window shows them.
    enum Accounts: Sendable {
        /// The current account, if any, and the previous one.
        case known(CurrentAccount)
        /// Several accounts, none of them the current one: the person chooses.
        case choice([Account])
    }

    /// Returns the signed-in accounts.
    func accounts() async throws -> Accounts {
        do {
            return .known(try await application.currentAccount())
        } catch let error as AuthenticationError where error.code == .accountSelectionRequired {
            return .choice(try await application.allAccounts())
        }
    }

    /// Makes one of several accounts the current one.
    func choose(_ account: Account) async throws {
        try await application.setCurrentAccount(account)
    }

    /// Returns Graph's answer about the person. Acquires the token silently if possible, otherwise with a sign-in.
    ///
    /// - Parameters:
    ///   - asAnother: Whether the person signs in with another account first.
    ///   - signIn: Signs in through the browser.
    /// - Throws: `AuthenticationError.Code.accountSelectionRequired` if several accounts are signed in and none is the
    ///   current one.
    func callGraph(
        asAnother: Bool = false,
        signIn: @MainContext (InteractiveParameters) async throws -> AuthenticationResult
    ) async throws -> GraphAnswer {
        var parameters = InteractiveParameters(scopes: scopes)
        guard !asAnother, let account = try await application.currentAccount().current else {
            parameters.prompt = .selectAccount
            return try await me(try await signIn(parameters), wasInteractive: true)
        }
        do {
            return try await me(try await token(account), wasInteractive: false)
        } catch let error as AuthenticationError where error.family == .interactionRequired {
            parameters.account = account
            parameters.claims = error.claims
            return try await me(try await signIn(parameters), wasInteractive: true)
        }
    }

    private func token(_ account: Account) async throws -> AuthenticationResult {
        try await application.acquireTokenSilently(scopes: scopes, account: account)
    }

    /// Removes the person's tokens from this computer.
    func signOut(_ account: Account) async throws -> SignOutResult {
        var parameters = SignOutParameters()
        parameters.endsBrowserSession = endsBrowserSession
        return try await application.signOut(account, parameters: parameters)
    }

    private func me(_ token: AuthenticationResult, wasInteractive: Bool) async throws -> GraphAnswer {
        let account = token.account
        let graph = AuthenticatedClient(application: application, account: account, scopes: scopes)
        let (response, body) = try await graph.get(graphURL.appending(path: "me"))
        // The client renews a token that Graph refuses.
        let used = try await self.token(account)
        return GraphAnswer(
            account: account,
            status: response.status.code,
            body: Array(body),
            wasInteractive: wasInteractive,
            source: used.accessToken == token.accessToken ? token.source : .identityProvider
        )
    }
}

/// Graph's answer.
struct GraphAnswer: Sendable {
    let account: Account
    let status: Int
    let body: [UInt8]
    /// Whether the person had to sign in for the answer.
    let wasInteractive: Bool
    /// The access token's source.
    let source: AuthenticationResult.Source

    /// The log line about the source.
    var sourceText: String {
        switch source {
        case .cache: tr("The token came from the cache.")
        case .broker: tr("The token came from the identity broker.")
        case .identityProvider: tr("The token came from the identity provider.")
        @unknown default: tr("The token came from the identity provider.")
        }
    }

    /// The body in readable form: JSON with one line for each member, ordered by name; the size of what is no text; the
    /// beginning of any other body.
    var text: String {
        let options: JSONSerialization.WritingOptions = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        guard let object = try? JSONSerialization.jsonObject(with: Data(body)),
            let data = try? JSONSerialization.data(withJSONObject: object, options: options)
        else {
            return String(validating: body, as: UTF8.self).map { String($0.prefix(4096)) }
                ?? tr("{0} bytes that are not text", "\(body.count)")
        }
        return String(decoding: data, as: UTF8.self)
    }
}
