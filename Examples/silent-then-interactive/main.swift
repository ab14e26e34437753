// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
@preconcurrency import Glibc
import IdentityClient
import IdentityKeyring

let environment = ProcessInfo.processInfo.environment
let authority = try Authority.openIDConnect(issuer: environment["ISSUER"] ?? "https://id.example.com")
let clientID = ClientID(rawValue: environment["CLIENT_ID"] ?? "your-client-id")
let cache = DesktopTokenCache(applicationName: "Example")
let app = try PublicClientApplication(.init(clientID: clientID, authority: authority, cache: cache))

do {
    // Acquires the token silently if possible, otherwise through the browser.
    let result = try await app.acquireTokenSilentlyOrInteractively(scopes: ["email"])
    let origin = result.source == .cache ? "from the cache" : "from the identity provider"
    print("\(result.account.username ?? "The account") is signed in until \(result.expiresOn), with a token \(origin)")
    try await app.finishPendingWork(within: .seconds(15))
} catch let error as AuthenticationError {
    fputs("\(error.message)\n", stderr)
    exit(EXIT_FAILURE)
}
