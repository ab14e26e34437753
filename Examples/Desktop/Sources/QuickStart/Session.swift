// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import Foundation
import IdentityClient

/// What the program does with the library: the steps of the quick start.
struct Session: Sendable {
    let application: PublicClientApplication
    let graphURL: URL
    let scopes: Set<Scope>

    /// Whether the browser's session ends with the program's.
    let endsBrowserSession: Bool

    /// Who is signed in, and who was before.
    func accounts() async throws -> CurrentAccount {
        try await application.currentAccount()
    }

    /// Graph's answer to who the person is: silently first, and with the person's help when it is needed.
    ///
    /// - Parameter signIn: Signs in through the browser.
    func callGraph(
        signIn: @MainContext (InteractiveParameters) async throws -> AuthenticationResult
    ) async throws -> GraphAnswer {
        var parameters = InteractiveParameters(scopes: scopes)
        guard let account = try await accounts().current else {
            parameters.prompt = .selectAccount
            return try await me(try await signIn(parameters).account, wasInteractive: true)
        }
        do {
            return try await me(account, wasInteractive: false)
        } catch let error as AuthenticationError where .interactionRequired ~= error.code {
            parameters.account = account
            parameters.claims = error.claims
            return try await me(try await signIn(parameters).account, wasInteractive: true)
        }
    }

    /// Forgets the person's tokens on this computer.
    func signOut(_ account: Account) async throws -> SignOutResult {
        var parameters = SignOutParameters()
        parameters.endsBrowserSession = endsBrowserSession
        return try await application.signOut(account, parameters)
    }

    private func me(_ account: Account, wasInteractive: Bool) async throws -> GraphAnswer {
        let graph = AuthenticatedClient(application: application, account: account, scopes: scopes)
        let (response, body) = try await graph.get(graphURL.appending(path: "me"))
        return GraphAnswer(
            account: account,
            status: response.status.code,
            body: Array(body),
            wasInteractive: wasInteractive
        )
    }
}

/// What Graph answered.
struct GraphAnswer: Sendable {
    let account: Account
    let status: Int
    let body: [UInt8]
    /// Whether the person had to sign in for it.
    let wasInteractive: Bool

    /// The body for people: JSON with a line for each member, in the order of the names; anything else as it came.
    var text: String {
        let options: JSONSerialization.WritingOptions = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        guard let object = try? JSONSerialization.jsonObject(with: Data(body)),
            let data = try? JSONSerialization.data(withJSONObject: object, options: options)
        else { return String(decoding: body.prefix(4096), as: UTF8.self) }
        return String(decoding: data, as: UTF8.self)
    }
}
