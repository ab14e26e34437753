// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient
import IdentityResources
import IdentityTestSupport
import IdentityTesting
import LoopbackHTTP
import Testing

/// Servers of plain OAuth 2.0 that answer as GitHub does.
@Suite(.timeLimit(.minutes(1)))
struct PlainOAuthTests {
    private static let tenYears = 315_360_000

    private func setup(issuesRefreshTokens: Bool = false) throws -> TestSetup {
        try TestSetup { settings in
            settings.requiresOfflineAccess = false
            settings.issuesRefreshTokens = issuesRefreshTokens
        }
    }

    private func signedIn(
        _ setup: TestSetup,
        scopes: Set<Scope> = ["api.read"]
    ) async throws -> (PublicClientApplication, AuthenticationResult) {
        let authority = try Authority.oauth2(
            .init(authorization: "https://login.example.test/authorize", token: "https://login.example.test/token")
        )
        return try await setup.signedIn(scopes: scopes) { $0.authority = authority }
    }

    /// A server that names itself in its answers, and answers of a hostile server.
    @Test(arguments: [nil, "https://evil.example.test", "https://login.example.test/"] as [String?])
    func refusesTheAnswerOfAnotherServer(_ issuer: String?) async throws {
        let setup = try setup()
        let named = Authority.OAuth2Endpoints(
            authorization: "https://login.example.test/authorize",
            token: "https://login.example.test/token",
            issuer: "https://login.example.test"
        )
        let authority = try Authority.oauth2(named)
        #expect(try await setup.signedIn(scopes: ["api.read"]) { $0.authority = authority }.1.scopes == ["api.read"])
        setup.provider.forgetRequests()
        setup.browser.redirectFaults = [.changing("iss", to: issuer)]
        try await expectError(.invalidResponse) {
            try await setup.signedIn(scopes: ["api.read"]) { $0.authority = authority }
        }
        #expect(setup.provider.count(of: .token) == 0)
    }

    /// The answer's scopes, and those of `api.read` and `api.write` that it grants.
    @Test(
        arguments: [
            ("api.read,api.write", ["api.read", "api.write"]), ("api.write,api.read", ["api.read", "api.write"]),
            ("api.read, api.write", ["api.read", "api.write"]), ("api.read api.write", ["api.read", "api.write"]),
            ("api.read,api.more", ["api.read", "api.more"]), ("api.write", ["api.write"]),
            ("api.write,\u{301}x", ["api.write", "\u{301}x"]),
        ] as [(String, Set<Scope>)]
    )
    func readsScopesThatAreSeparatedByCommas(answer: String, granted: Set<Scope>) async throws {
        let setup = try setup()
        let scopes: Set<Scope> = ["api.read", "api.write"]
        setup.provider.failNext(.token, with: .changing("scope", to: "\"\(answer)\""))
        let (application, first) = try await signedIn(setup, scopes: scopes)
        #expect(first.scopes == granted && first.declinedScopes == scopes.subtracting(granted))
        #expect(try await application.allAccounts().count == 1)
        let hit = try await application.acquireTokenSilently(scopes: scopes, account: first.account)
        #expect(hit.source == .cache && hit.scopes == granted)
    }

    @Test func readsThemInTheAnswerToARefresh() async throws {
        let setup = try setup(issuesRefreshTokens: true)
        let (application, first) = try await signedIn(setup, scopes: ["api.read", "api.write"])
        setup.clock.advance(by: .seconds(3600))
        setup.provider.failNext(.token, with: .changing("scope", to: #""api.read,api.write""#))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider && next.scopes == ["api.read", "api.write"])
    }

    /// LinkedIn's answers contain an ID token without a nonce, and there are no keys to check it, so anyone could have written
    /// it. The library ignores it, also in the answer to a refresh.
    @Test(arguments: ["given", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJtYWxsb3J5In0.AAAA", "not a token"])
    func leavesAnIDTokenOut(_ token: String) async throws {
        let setup = try setup(issuesRefreshTokens: true)
        if token != "given" { setup.provider.failAlways(.token, with: .changing("id_token", to: "\"\(token)\"")) }
        let (application, first) = try await signedIn(setup, scopes: ["openid", "profile"])
        #expect(first.idToken == nil && first.account.username == nil)
        setup.clock.advance(by: .seconds(3600))
        let next = try await application.acquireTokenSilently(scopes: ["openid", "profile"], account: first.account)
        #expect(next.source == .identityProvider && next.idToken == nil && next.account.id == first.account.id)
        #expect(try await application.allAccounts().map(\.id) == [first.account.id])
    }

    /// RFC 6749 §3.3 allows a comma in a scope. If the program requests one, the server has such scopes.
    @Test func leavesScopesWithACommaWhole() async throws {
        let setup = try setup(issuesRefreshTokens: true)
        let (application, first) = try await signedIn(setup, scopes: ["api.read,all", "api.more"])
        #expect(first.scopes == ["api.read,all", "api.more"] && first.declinedScopes.isEmpty)
        // Also when this wish has none, and the answer names all that was granted.
        setup.clock.advance(by: .seconds(3600))
        let next = try await application.acquireTokenSilently(scopes: ["api.more"], account: first.account)
        #expect(next.source == .identityProvider && next.scopes == ["api.read,all", "api.more"])
    }

    /// OpenID Connect providers must follow the specification.
    @Test func splitsNoScopesOfAnOpenIDConnectProvider() async throws {
        let setup = try TestSetup()
        setup.provider.failNext(.token, with: .changing("scope", to: #""api.read,api.write api.read""#))
        let (_, first) = try await setup.signedIn(scopes: ["api.read", "api.write"])
        #expect(first.scopes == ["api.read,api.write", "api.read"] && first.declinedScopes == ["api.write"])
    }

    /// `expires_in`, whether there is a refresh token, and how long the token is considered valid.
    @Test(
        arguments: [
            (nil, false, tenYears), (nil, true, 3600), ("600", false, 600), ("600", true, 600),
        ] as [(String?, Bool, Int)]
    )
    func assumesNoEndWhereNothingSpeaksOfOne(json: String?, issuesRefreshTokens: Bool, lifetime: Int) async throws {
        let setup = try setup(issuesRefreshTokens: issuesRefreshTokens)
        setup.provider.failNext(.token, with: .changing("expires_in", to: json))
        let (application, first) = try await signedIn(setup)
        #expect(first.expiresOn == setup.clock.now.addingTimeInterval(Double(lifetime)))
        setup.clock.advance(by: .seconds(lifetime - 400))
        let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(hit.source == .cache)
    }

    @Test func assumesAnHourWhereARefreshOrOpenIDConnectDoesNotSay() async throws {
        let refreshed = try setup(issuesRefreshTokens: true)
        let (application, first) = try await signedIn(refreshed)
        refreshed.clock.advance(by: .seconds(3600))
        // A refresh token that the answer does not replace is kept.
        refreshed.provider.failNext(
            .token,
            with: .all(.changing("expires_in", to: nil), .changing("refresh_token", to: nil))
        )
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.expiresOn == refreshed.clock.now.addingTimeInterval(3600))

        let openID = try TestSetup { $0.issuesRefreshTokens = false }
        openID.provider.failNext(.token, with: .changing("expires_in", to: nil))
        #expect(try await openID.signedIn().1.expiresOn == openID.clock.now.addingTimeInterval(3600))
    }

    @Test func aForcedRefreshOfATokenWithoutEndNeedsThePerson() async throws {
        let setup = try setup()
        setup.provider.failNext(.token, with: .changing("expires_in", to: nil))
        let (application, first) = try await signedIn(setup)
        setup.clock.advance(by: .seconds(365 * 86_400))
        for _ in 0..<3 {
            let error = try await expectError(.noTokensFound) {
                try await application.acquireTokenSilently(
                    SilentParameters(scopes: ["api.read"], account: first.account, forcesRefresh: true)
                )
            }
            #expect(
                AuthenticationError.Code.interactionRequired ~= error.code && error.message.contains("for this account")
            )
        }
        #expect(setup.provider.count(of: .token) == 1)
    }

    /// Only the API knows when such a token expires.
    @Test func aRefusedTokenWithoutEndNeedsThePersonAndNotALoop() async throws {
        let setup = try setup()
        setup.provider.failAlways(.token, with: .changing("expires_in", to: nil))
        let (application, first) = try await signedIn(setup)
        let refused = "Bearer \(first.accessToken)"
        let server = try ResourceServer { request in
            request.headers["Authorization"] == refused
                ? .unauthorized("Bearer error=\"invalid_token\"") : LoopbackResponse(status: 200, text: "welcome")
        }
        let client = AuthenticatedClient(
            application: application,
            account: first.account,
            scopes: ["api.read"],
            transport: CurlTransport()
        )
        // A year later the token is still given, and the API takes it no more.
        setup.clock.advance(by: .seconds(365 * 86_400))
        try await expectError(.noTokensFound) { try await client.get(server.url()) }
        #expect(server.requests.count == 1 && setup.provider.count(of: .token) == 1)

        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.account = first.account
        _ = try await application.acquireTokenInteractively(parameters)
        #expect(try await client.get(server.url()).response.status == .ok)
        #expect(try await application.allAccounts().map(\.id) == [first.account.id])
    }
}
