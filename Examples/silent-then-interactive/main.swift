// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
@preconcurrency import Glibc  // for stderr, which is a variable in C
import IdentityClient
import IdentityKeyring

let environment = ProcessInfo.processInfo.environment

do {
    let authority = try Authority.openIDConnect(issuer: environment["ISSUER"] ?? "https://id.example.com")
    let clientID = ClientID(rawValue: environment["CLIENT_ID"] ?? "your-client-id")
    let cache = DesktopTokenCache(applicationName: "Example")
    let app = try PublicClientApplication(.init(clientID: clientID, authority: authority, cache: cache))
    // Acquires the token silently if possible, otherwise through the browser.
    let result = try await token(for: ["email"], from: app)
    let origin = result.source == .cache ? "from the cache" : "from the identity provider"
    print("\(result.account.username ?? "The account") is signed in until \(result.expiresOn), with a token \(origin)")
    try await app.finishPendingWork(within: .seconds(15))
} catch let error as AuthenticationError {
    fputs("\(error.message)\n", stderr)
    exit(EXIT_FAILURE)
}

func token(for scopes: Set<Scope>, from app: PublicClientApplication) async throws -> AuthenticationResult {
    if let account = try await app.currentAccount().current {
        do {
            return try await app.acquireTokenSilently(scopes: scopes, account: account)
        } catch let error as AuthenticationError where error.family == .interactionRequired {}
    }
    var signIn = InteractiveParameters(scopes: scopes)
    signIn.onAuthorizationURL = { url in print("If no browser opens, go to \(url)") }
    return try await app.acquireTokenInteractively(signIn)
}
