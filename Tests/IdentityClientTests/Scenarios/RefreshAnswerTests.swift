// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// Answers to a refresh: those that are refused while the old credentials are kept, and those that are accepted.
@Suite(.timeLimit(.minutes(1)))
struct RefreshAnswerTests {
    static let wrong: [WrongAnswer.Case] =
        WrongAnswer.toAnyGrant + [
            (.refusal("invalid_grant", status: 200), .signInExpired),
            (.emptyBadRequest, .signInExpired),
            (WrongAnswer.blockPage(status: 400), .serverUnavailable),
            (WrongAnswer.blockPage(status: 401), .serverUnavailable),
        ]

    @Test(arguments: wrong.indices)
    func keepsTheOldCredentialsAfterAWrongAnswer(_ index: Int) async throws {
        let (fault, code) = Self.wrong[index]
        let setup = try TestSetup { $0.rotatesRefreshTokens = false }
        let (application, first) = try await setup.signedIn()
        setup.provider.failAlways(.token, with: fault)
        try await expectUnchanged(setup, application, first.account, code)
        #expect(setup.transport.requests.allSatisfy { $0.authority == "login.example.test" })
        setup.provider.failAlways(.token, with: nil)
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider)
    }

    static let unbelievable: [IDTokenTampering] = [
        .issuer("https://evil.example.test"), .audience(["another-client"]), .brokenSignature,
        .unpublishedKey, .algorithm("none"), .claim("sub", nil),
        // A different nonce or access token hash does not excuse other faults.
        .all(.nonce("another"), .brokenSignature), .all(.nonce("another"), .issuer("https://evil.example.test")),
        .all(.nonce("another"), .audience(["another-client"])), .all(.accessTokenHash, .brokenSignature),
    ]

    /// The server has already invalidated the old refresh token, so losing the new one would end the sign-in.
    @Test(arguments: unbelievable.indices)
    func keepsTheNewRefreshTokenIfTheIDTokenIsRejected(_ index: Int) async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3600))
        setup.provider.tamperNextIDToken(with: Self.unbelievable[index])
        try await expectError(.invalidIDToken) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider)
        let sent = setup.provider.requests.compactMap { $0["refresh_token"] }
        #expect(sent.count == 2 && Set(sent).count == 2)
    }

    static let unusable: [TestIdentityProvider.Fault] = [
        .changing("access_token", to: nil), .changing("access_token", to: "7"),
        .changing("token_type", to: #""mac""#), .changing("expires_in", to: "[]"), .changing("scope", to: "true"),
    ]

    @Test(arguments: unusable.indices)
    func keepsTheNewRefreshTokenOfAnAnswerThatCannotBeUsed(_ index: Int) async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3600))
        setup.provider.failNext(.token, with: Self.unusable[index])
        try await expectError(.malformedResponse) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider)
        let sent = setup.provider.requests.compactMap { $0["refresh_token"] }
        #expect(sent.count == 2 && Set(sent).count == 2)
    }

    /// An empty refresh token counts as missing: the stored one is kept.
    @Test func keepsTheOldRefreshTokenIfAFaultyAnswerHasAnEmptyOne() async throws {
        let setup = try TestSetup { $0.rotatesRefreshTokens = false }
        let (application, first) = try await setup.signedIn()
        setup.provider.failNext(
            .token,
            with: .all(.changing("refresh_token", to: #""""#), .changing("expires_in", to: "[]"))
        )
        try await expectUnchanged(setup, application, first.account, .malformedResponse)
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider)
    }

    /// Faults of the key endpoint, and whether the keys of an earlier day are still used.
    static let withoutKeys: [(TestIdentityProvider.Fault, Bool)] = [
        (.html, true), (.oversized(), true), (.drop, true), (.serverError(), true),
        (.throttled(retryAfter: .seconds(9)), true), (.redirect(to: "https://evil.example.test/keys"), true),
        (.answer(status: 404), false), (.answer(status: 403), false),
    ]

    /// The new refresh token matters more than the ID token beside it.
    @Test(arguments: withoutKeys.indices, [false, true])
    func refreshesIfTheKeysCannotBeFetched(_ index: Int, _ signsWithANewKey: Bool) async throws {
        let (fault, leavesTheEarlierKeys) = Self.withoutKeys[index]
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.provider.failAlways(.keys, with: fault)
        if signsWithANewKey { setup.provider.rotateSigningKey() }
        setup.clock.advance(by: .seconds(2 * 86_400))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider)
        #expect((next.idToken != first.idToken) == (leavesTheEarlierKeys && !signsWithANewKey))
        setup.clock.advance(by: .seconds(3600))
        let third = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(third.source == .identityProvider)
    }

    /// A transport whose requests take as long as they take.
    private struct PatientTransport: TimedTransport {
        let base: any HTTPTransport

        func send(_ request: HTTPRequest, body: [UInt8]?) async throws -> (HTTPResponse, [UInt8]) {
            try await base.send(request, body: body)
        }

        func send(_ request: HTTPRequest, body: [UInt8]?, within limit: Duration) async throws -> (
            HTTPResponse, [UInt8]
        ) {
            try await base.send(request, body: body)
        }
    }

    /// The lease lasts for one request and a little more, and other processes wait for it.
    @Test func checksTheIDTokenInTheTimeOfOneRequest() async throws {
        let setup = try TestSetup()
        let (_, first) = try await setup.signedIn()
        let application = try setup.application {
            $0.transport = PatientTransport(base: setup.transport)
            $0.requestTimeout = .milliseconds(20)
        }
        setup.provider.failAlways(.keys, with: .held(by: TestGate()))
        setup.provider.rotateSigningKey()
        setup.clock.advance(by: .seconds(3600))
        let begin = ContinuousClock.now
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider && next.idToken == first.idToken)
        #expect(begin.duration(to: .now) < .seconds(20))
    }

    @Test func rejectsAnotherPersonsIDTokenIfTheKeysCannotBeFetched() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.provider.failAlways(.keys, with: .answer(status: 404))
        setup.provider.rotateSigningKey()
        setup.provider.tamperNextIDToken(with: .subject("subject-bob"))
        try await expectUnchanged(setup, application, first.account, .invalidResponse)
    }

    @Test func stopsALoopOfRejectedAnswers() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3600))
        for _ in 0..<20 {
            setup.provider.tamperNextIDToken(with: .brokenSignature)
            _ = try? await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        #expect(setup.provider.requests.count { $0["refresh_token"] != nil } == 5)
    }

    @Test func acceptsAnIDTokenThatRepeatsTheNonceOrLeavesItOut() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        for leavesItOut in [false, true, false] {
            setup.clock.advance(by: .seconds(3600))
            if leavesItOut { setup.provider.tamperNextIDToken(with: .nonce(nil)) }
            let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            #expect(next.source == .identityProvider)
        }
    }

    /// Gitea and Forgejo repeat the nonce of the newest sign-in, which may have been on another computer. The ID token that
    /// django-oauth-toolkit returns again within its grace period was made for another access token.
    @Test(arguments: [IDTokenTampering.nonce("of another computer"), .accessTokenHash])
    func leavesOutAnIDTokenOfAnotherSignInOrAnswer(_ tampering: IDTokenTampering) async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        for _ in 0..<6 {
            setup.clock.advance(by: .seconds(3600))
            setup.provider.tamperNextIDToken(with: tampering)
            let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            #expect(next.source == .identityProvider)
            #expect(next.idToken == first.idToken && next.tenantProfile == first.tenantProfile)
        }
        setup.clock.advance(by: .seconds(3600))
        let right = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(right.source == .identityProvider && right.idToken != first.idToken)
    }

    @Test(arguments: [false, true], [false, true])
    func keepsNothingOfAnotherPersonsIDToken(_ rotates: Bool, _ hasAnotherNonce: Bool) async throws {
        let setup = try TestSetup { $0.rotatesRefreshTokens = rotates }
        let (application, first) = try await setup.signedIn()
        let bob = IDTokenTampering.subject("subject-bob")
        setup.provider.tamperNextIDToken(with: hasAnotherNonce ? .all(bob, .nonce("another")) : bob)
        try await expectUnchanged(setup, application, first.account, .invalidIDToken)
        guard !rotates else { return }  // the provider has spent the refresh token
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.account.id == first.account.id)
    }

    @Test(arguments: [false, true])
    func keepsNothingOfAnotherPersonsClientInfo(_ hasIDToken: Bool) async throws {
        let setup = try TestSetup(.entra) { settings in
            settings.rotatesRefreshTokens = false
            settings.issuesIDTokenOnRefresh = hasIDToken
        }
        let (application, first) = try await setup.signedIn()
        let info = Data(#"{"uid":"bbbbbbbb-0000-4000-8000-000000000002","utid":"11111111"}"#.utf8).base64EncodedString()
        setup.provider.failNext(.token, with: .changing("client_info", to: "\"\(info.filter { $0 != "=" })\""))
        try await expectUnchanged(setup, application, first.account, .invalidResponse)
    }

    /// The refresh of an expired access token fails with that code, and the stored credentials stay unchanged.
    private func expectUnchanged(
        _ setup: TestSetup,
        _ application: PublicClientApplication,
        _ account: Account,
        _ code: AuthenticationError.Code
    ) async throws {
        let before = try await setup.storedTokens(of: application)
        setup.clock.advance(by: .seconds(3600))
        try await expectError(code) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: account)
        }
        #expect(try await setup.storedTokens(of: application) == before)
        if code == .signInExpired { setup.clock.advance(by: .seconds(60)) }  // for which the refusal is remembered
    }

    @Test func acceptsANewSigningKey() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.provider.rotateSigningKey()
        setup.clock.advance(by: .seconds(3600))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider)
        #expect(next.idToken != first.idToken)
        #expect(setup.provider.count(of: .keys) == 2)
    }

    @Test(arguments: [
        ("\"1200\"", 1200), ("1200", 1200), (nil, 3600), ("null", 3600),
        ("315359999", 315_359_999), ("315360000", 315_360_000), ("9999999999", 315_360_000),
    ])
    func acceptsLifetimesAsServersWriteThem(_ json: String?, _ seconds: Int) async throws {
        let setup = try TestSetup()
        setup.provider.failNext(.token, with: .changing("expires_in", to: json))
        let (application, first) = try await setup.signedIn()
        #expect(first.expiresOn == setup.clock.now.addingTimeInterval(Double(seconds)))
        let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(hit.source == .cache)
    }

    @Test func worksWithoutARefreshToken() async throws {
        let setup = try TestSetup { $0.issuesRefreshTokens = false }
        let (application, first) = try await setup.signedIn()
        let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(hit.source == .cache)
        setup.clock.advance(by: .seconds(3600))
        let error = try await expectError(.noTokensFound) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        #expect(AuthenticationError.Code.interactionRequired ~= error.code)
        #expect(setup.provider.count(of: .token) == 1)
        #expect(try await application.allAccounts() == [first.account])
    }

    @Test func keepsEarlierClaimsWhenARefreshHasNoIDToken() async throws {
        let setup = try TestSetup { $0.issuesIDTokenOnRefresh = false }
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3600))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.accessToken != first.accessToken)
        #expect(next.idToken == first.idToken)
        #expect(next.tenantProfile == first.tenantProfile)
        #expect(next.account == first.account)
        #expect(next.account.username == "alice@example.test")
    }

    @Test func keepsTheRefreshTokenThatIsNotReplaced() async throws {
        let setup = try TestSetup { $0.rotatesRefreshTokens = false }
        let (application, first) = try await setup.signedIn()
        for _ in 0..<3 {
            setup.clock.advance(by: .seconds(3600))
            let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            #expect(next.source == .identityProvider)
        }
    }

    /// The provider has already rotated the refresh token: refusing the answer because of a wrong clock would end the sign-in.
    @Test(arguments: [-86_400, 86_400])
    func refreshesWithAClockThatIsADayWrong(_ offset: Int) async throws {
        let setup = try TestSetup()
        let (_, first) = try await setup.signedIn()
        let wrong = ManualClock(now: setup.clock.now.addingTimeInterval(Double(offset)))
        let application = try setup.application { $0.clock = wrong }
        for _ in 0..<3 {
            let next = try await application.acquireTokenSilently(
                SilentParameters(scopes: ["api.read"], account: first.account, forcesRefresh: true)
            )
            #expect(next.source == .identityProvider)
        }
    }

    @Test(arguments: [["test-client"], ["test-client", "another-api"]])
    func acceptsAnArrayOfAudiences(_ audience: [String]) async throws {
        let setup = try TestSetup()
        setup.provider.tamperNextIDToken(
            with: audience.count == 1 ? .audience(audience) : .audience(audience, authorizedParty: "test-client")
        )
        let (application, first) = try await setup.signedIn()
        #expect(try await application.allAccounts() == [first.account])
    }

    @Test(arguments: [#""bearer""#, #""BEARER""#])
    func acceptsTheTokenTypeInAnyCase(_ json: String) async throws {
        let setup = try TestSetup()
        setup.provider.failNext(.token, with: .changing("token_type", to: json))
        let (application, first) = try await setup.signedIn()
        #expect(first.tokenType == "Bearer")
        let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(hit.source == .cache)
        #expect(hit.authorizationHeader == "Bearer \(first.accessToken)")
    }
}
