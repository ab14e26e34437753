// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

/// UserInfo of several kinds of providers, and answers that are not believed.
@Suite(.timeLimit(.minutes(1)))
struct UserInfoTests {
    private typealias Fault = TestIdentityProvider.Fault

    private static func jwt(_ text: String) -> Fault {
        .answer(status: 200, headers: [("Content-Type", "application/jwt")], body: text)
    }

    @Test func renewsARefusedTokenOnce() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.provider.failNext(.userInfo, with: .answer(status: 401))
        #expect(try await application.userInfo(for: first.account).subject == "subject-alice")
        #expect(setup.provider.count(of: .userInfo) == 2 && setup.provider.count(of: .token) == 2)
        setup.provider.failAlways(.userInfo, with: .answer(status: 401))
        try await expectError(.loginRequired) { try await application.userInfo(for: first.account) }
        #expect(setup.provider.count(of: .userInfo) == 4 && setup.provider.count(of: .token) == 3)
    }

    @Test func renewsNoTokenThatIsNewOrThatNoRenewalChanges() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        let challenge = #"Bearer error="insufficient_scope", scope="openid email""#
        setup.provider.failNext(.userInfo, with: .answer(status: 401, headers: [("WWW-Authenticate", challenge)]))
        let error = try await expectError(.insufficientScope) { try await application.userInfo(for: first.account) }
        #expect(error.challenge?.scopes.isSuperset(of: ["api.read", "email"]) == true)
        #expect(setup.provider.count(of: .token) == 1)
        setup.clock.advance(by: .seconds(3600))
        setup.provider.failNext(.userInfo, with: .answer(status: 401))
        try await expectError(.loginRequired) { try await application.userInfo(for: first.account) }
        #expect(setup.provider.count(of: .token) == 2)
    }

    private static let refused: [(AuthenticationError.Code, Fault)] = [
        (.malformedResponse, .html), (.malformedResponse, .oversized(bytes: 2 << 20)), (.malformedResponse, .notUTF8),
        (.malformedResponse, .redirect(to: "https://login.example.test/other", status: 302)),
        (.serverUnavailable, .serverError()), (.throttled, .throttled(retryAfter: .seconds(7))),
        (.malformedResponse, .repeating("sub")), (.connectionFailed, .drop),
        (.malformedResponse, .answer(status: 204)), (.malformedResponse, .answer(status: 200, body: "{}")),
        (.malformedResponse, .answer(status: 404, body: "<html>")),
        (
            .malformedResponse,
            .answer(
                status: 201,
                headers: [("Content-Type", "application/json")],
                body: #"{"sub":"subject-alice"}"#
            )
        ),
        (.unsupported, jwt("e30.a.b.c.d")), (.invalidResponse, jwt("e30.e30.")), (.invalidResponse, jwt("no")),
        // The unsigned form of a signed answer, as a plain object.
        (.invalidResponse, jwt(#"{"sub":"subject-alice"}"#)),
    ]

    @Test(arguments: refused)
    func refusesWhatIsNoAnswer(_ code: AuthenticationError.Code, _ fault: TestIdentityProvider.Fault) async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.provider.failNext(.userInfo, with: fault)
        try await expectError(code) { try await application.userInfo(for: first.account) }
        #expect(setup.provider.count(of: .userInfo) == 1 && setup.provider.count(of: .token) == 1)
    }

    private static let tampered: [(String, IDTokenTampering)] = [
        ("signature", .brokenSignature), ("signature", .unpublishedKey), ("alg", .algorithm("none")),
        ("alg", .algorithm("HS256")), ("kid", .keyID("unknown")), ("iss", .issuer("https://evil.example.test")),
        ("aud", .audience(["another-client"])),
    ]

    @Test(arguments: tampered)
    func refusesASignedAnswer(naming reason: String, _ tampering: IDTokenTampering) async throws {
        let setup = try TestSetup { $0.signsUserInfo = true }
        let (application, first) = try await setup.signedIn()
        setup.provider.tamperNextIDToken(with: tampering)
        let error = try await expectError(.invalidResponse) { try await application.userInfo(for: first.account) }
        #expect(error.message.contains(reason) && error.message.contains("UserInfo"), "\(error.message)")
    }

    @Test func aSignedAnswerNeedsNeitherIssuerNorAudience() async throws {
        let setup = try TestSetup { $0.signsUserInfo = true }
        let (application, first) = try await setup.signedIn()
        setup.provider.tamperNextIDToken(with: .all(.claim("iss", nil), .claim("aud", nil)))
        #expect(try await application.userInfo(for: first.account).subject == "subject-alice")
    }

    /// Entra ID's endpoint is at Microsoft Graph, and needs a token for it.
    @Test func asksMicrosoftGraphWithATokenForIt() async throws {
        let setup = try TestSetup(.entra)
        let (application, first) = try await setup.signedIn(scopes: ["User.Read"])
        #expect(try await application.userInfo(for: first.account).subject == "subject-alice")
        let sent = try #require(setup.provider.requests.last { $0.endpoint == .userInfo })
        #expect(sent.url == "https://graph.microsoft.com/oidc/userinfo")
    }

    @Test(arguments: [
        "http://graph.microsoft.com/oidc/userinfo", "https://graph.microsoft.com.evil.example/oidc/userinfo",
        "https://graph.microsoft.com:8443/oidc/userinfo", "https://evil.example.test/userinfo",
    ])
    func sendsNoTokenToAForeignHost(endpoint: String) async throws {
        let setup = try TestSetup(.entra)
        setup.provider.failAlways(.discovery, with: .changing("userinfo_endpoint", to: "\"\(endpoint)\""))
        let (application, first) = try await setup.signedIn(scopes: ["User.Read"])
        let error = try await expectError(.untrustedAuthority) { try await application.userInfo(for: first.account) }
        #expect(error.message.contains(endpoint))
    }

    @Test(arguments: [nil, "{}"])
    func saysThatThereIsNoEndpoint(published: String?) async throws {
        let setup = try TestSetup()
        setup.provider.failAlways(.discovery, with: .changing("userinfo_endpoint", to: published))
        let (application, first) = try await setup.signedIn()
        try await expectError(.unsupported) { try await application.userInfo(for: first.account) }
    }

    /// Without an API's scope, a token that was acquired without one is sent.
    @Test func sendsTheTokenOfTheGivenScopes() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        #expect(try await application.userInfo(for: first.account, scopes: []).subject == "subject-alice")
        let sent = try #require(setup.provider.requests.last { $0.endpoint == .userInfo })
        #expect(sent.header("Authorization") != first.authorizationHeader)
    }

    @Test func endsAtTheDeadlineAndOnCancellation() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn { $0.requestTimeout = .milliseconds(100) }
        let gate = TestGate()
        setup.provider.failAlways(.userInfo, with: .held(by: gate))
        try await expectError(.networkTimedOut) { try await application.userInfo(for: first.account) }
        let (patient, _) = try await setup.signedIn { $0.requestTimeout = .seconds(60) }
        let task = Task { try await patient.userInfo(for: first.account) }
        try await setup.provider.waitForRequest(.userInfo, count: 2)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        gate.open()
    }

    @Test func isMergedIntoTheAccountByChoice() throws {
        let profile = TenantProfile(tenantID: "t", localAccountID: "s", idTokenClaims: "{}")
        let account = Account(id: Account.ID(rawValue: "i|s"), environment: "e.test", tenantProfiles: [profile])
        let named = try #require(IdentityClaims(json: #"{"sub":"s","name":"Alice","email":"a@e.test"}"#))
        let merged = account.merging(named)
        #expect(merged.displayName == "Alice" && merged.username == "a@e.test" && merged.id == account.id)
        #expect(merged.tenantProfiles.first?.idTokenClaims == "{}")
        let unnamed = try #require(IdentityClaims(json: #"{"sub":"s","preferred_username":"alice"}"#))
        #expect(merged.merging(unnamed).displayName == "Alice" && merged.merging(unnamed).username == "alice")
    }
}
