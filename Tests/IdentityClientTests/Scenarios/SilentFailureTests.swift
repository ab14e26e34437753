// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// Failed renewals: the required action, and the credentials that stay.
@Suite(.timeLimit(.minutes(1)))
struct SilentFailureTests {
    static let failures: [TestIdentityProvider.Fault] = [
        .drop, .serverError(status: 500), .html, .throttled(retryAfter: .seconds(600)), .emptyBadRequest, .endless,
        WrongAnswer.blockPage(status: 403),
    ]

    @Test(arguments: failures.indices)
    func returnsATokenThatIsStillGood(_ index: Int) async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3400))
        setup.provider.failAlways(.token, with: Self.failures[index])
        let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(hit.source == .cache && hit.accessToken == first.accessToken)
        #expect(setup.provider.count(of: .token) > 1)
    }

    /// Exact Online refuses a refresh until 30 s before a token's ten minutes end, and blocks a program after ten such requests
    /// in an hour.
    @Test func asksOnceAMinuteWhileTheTokenIsStillGood() async throws {
        let setup = try TestSetup { $0.accessTokenLifetime = .seconds(600) }
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(541))
        setup.provider.failAlways(.token, with: .refusal("access_denied", status: 401))
        setup.provider.forgetRequests()
        for _ in 0..<20 {
            let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            #expect(hit.accessToken == first.accessToken)
            setup.clock.advance(by: .seconds(2))
        }
        #expect(setup.provider.count(of: .token) == 1)

        // A caller that forces a refresh gets the error.
        try await expectError(.signInExpired) {
            try await application.acquireTokenSilently(
                SilentParameters(scopes: ["api.read"], account: first.account, forcesRefresh: true)
            )
        }
        // And so is a new one when it has expired.
        setup.provider.failAlways(.token, with: nil)
        setup.clock.advance(by: .seconds(19))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider)
    }

    @Test func returnsATokenThatIsStillGoodWhenOffline() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3400))
        setup.transport.isOffline = true
        // A program that starts without network has nothing in memory.
        for application in [application, try setup.application()] {
            let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            #expect(hit.source == .cache && hit.accessToken == first.accessToken)
        }
        // Nobody was asked in vain, so that the next call need not wait a minute.
        setup.transport.isOffline = false
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider)
    }

    @Test(arguments: [TestIdentityProvider.Profile.openIDConnect, .entra, .externalID, .b2c, .adfs])
    func neverSendsThePersonToSignInForWantOfANetwork(_ profile: TestIdentityProvider.Profile) async throws {
        let setup = try TestSetup(profile)
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3601))
        setup.transport.isOffline = true
        for application in [application, try setup.application()] {
            let error = try await expectError(.connectionFailed) {
                try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            }
            #expect(AuthenticationError.Code.network ~= error.code)
        }
        setup.clock.advance(by: .seconds(3 * 86_400))  // even after the published documents are stale
        try await expectError(.connectionFailed) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        setup.transport.isOffline = false
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider)
    }

    /// A program that signs in whenever a person is needed would loop forever, because the blocking page stays.
    @Test(arguments: [403, 404, 407, 451])
    func neverSendsThePersonToSignInForAFirewallsPage(_ status: Int) async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        let before = try await setup.storedCredentials(of: application)
        setup.clock.advance(by: .seconds(3600))
        setup.provider.failAlways(.token, with: WrongAnswer.blockPage(status: status))
        for interacts in [false, true] {
            let error = try await expectError(status == 407 ? .serverUnavailable : .malformedResponse) {
                guard interacts else {
                    return try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
                }
                return try await application.acquireTokenInteractively(scopes: ["api.read"])
            }
            #expect(!(.interactionRequired ~= error.code) && error.serverError?.httpStatus == status)
            #expect(error.message.contains("\(status)") && error.message.contains("captive portal"))
        }
        #expect(setup.provider.count(of: .token) == 3, "Nothing is sent twice.")
        #expect(try await setup.storedCredentials(of: application) == before)
        setup.provider.failAlways(.token, with: nil)
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider)
    }

    @Test(arguments: [429, 503])
    func asksNoSecondTimeBeforeTheServerWants(_ status: Int) async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3600))
        setup.provider.failNext(
            .token,
            with: status == 429
                ? .throttled(retryAfter: .seconds(60)) : .serverError(status: status, retryAfter: .seconds(60))
        )
        let error = try await expectError(status == 429 ? .throttled : .serverUnavailable) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        #expect(error.retryAfter == .seconds(60))
        setup.clock.advance(by: .seconds(20))
        let again = try await expectError(.throttled) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        #expect(again.retryAfter == .seconds(40))
        #expect(setup.provider.count(of: .token) == 2)
        setup.clock.advance(by: .seconds(41))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider)
        #expect(setup.provider.count(of: .token) == 3)
    }

    @Test func letsTheInteractiveSignInPassAThrottledRenewal() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3600))
        setup.provider.failNext(.token, with: .throttled(retryAfter: .seconds(600)))
        try await expectError(.throttled) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        let next = try await application.acquireTokenInteractively(scopes: ["api.read"])
        let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(hit.accessToken == next.accessToken)
    }

    @Test func asksOnceMoreWhenTheAnswerWasLostAndTheServerIsPatient() async throws {
        let setup = try TestSetup { $0.reuseGracePeriod = .seconds(30) }
        let (application, first) = try await setup.signedIn()
        for fault in [TestIdentityProvider.Fault.dropAfterCommit, .truncated] {
            setup.clock.advance(by: .seconds(3600))
            let before = setup.provider.count(of: .token)
            setup.provider.failNext(.token, with: fault)
            let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            #expect(next.source == .identityProvider)
            #expect(setup.provider.count(of: .token) == before + 2)
        }
    }

    @Test func asksOnceWhereTheProgramSaysThatTheServerIsNotPatient() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn { $0.compatibility.retriesUnansweredRefreshes = false }
        setup.clock.advance(by: .seconds(3600))
        let before = setup.provider.count(of: .token)
        setup.provider.failNext(.token, with: .serverError())
        try await expectError(.serverUnavailable) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        #expect(setup.provider.count(of: .token) == before + 1)
    }

    @Test func keepsTheRefreshTokenUntilTheServerHasSpoken() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        let before = try await setup.storedCredentials(of: application)
        setup.clock.advance(by: .seconds(3600))
        setup.provider.failNext(.token, with: .dropAfterCommit, .drop)
        try await expectError(.connectionFailed) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        #expect(try await setup.storedCredentials(of: application) == before)
        #expect(setup.provider.count(of: .token) == 3)
        // Without timeout this is a reuse, which the server refuses: now a person is needed.
        try await expectError(.signInExpired) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        #expect(try await application.allAccounts() == [first.account])
    }

    @Test func dropsARefreshTokenThatTheServerDeclaredDead() async throws {
        let setup = try TestSetup(.entra)
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3600))
        setup.provider.revokeSessions(of: .alice)
        try await expectError(.signInExpired) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        #expect(setup.provider.count(of: .token) == 2)
        try await expectError(.noTokensFound) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        #expect(setup.provider.count(of: .token) == 2)
        #expect(try await application.allAccounts() == [first.account])
        let next = try await application.acquireTokenInteractively(scopes: ["api.read"])
        #expect(next.account.id == first.account.id)
    }

    @Test func keepsTheRefreshTokenWhenMoreIsAskedOfThePerson() async throws {
        let setup = try TestSetup(.entra)
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3600))
        setup.provider.requireSecondFactor(of: .alice)
        for _ in 0..<2 {
            let error = try await expectError(.loginRequired) {
                try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            }
            #expect(error.claims?.contains("polids") == true)
            #expect(error.serverError?.suberror == "basic_action")
        }
        #expect(setup.provider.count(of: .token) == 3, "The refresh token is still there to be sent.")
        _ = try await application.acquireTokenInteractively(scopes: ["api.read"])
        let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(hit.source == .cache)
    }

    @Test func tellsWhoHasToConsent() async throws {
        let setup = try TestSetup(.entra) { settings in
            settings.consentScopes = ["mail.read"]
            settings.adminConsentScopes = ["directory.all"]
        }
        let (application, first) = try await setup.signedIn()
        try await expectError(.consentRequired) {
            try await application.acquireTokenSilently(scopes: ["mail.read"], account: first.account)
        }
        let error = try await expectError(.adminConsentRequired) {
            try await application.acquireTokenSilently(scopes: ["directory.all"], account: first.account)
        }
        #expect(error.message.contains("administrator"))
        let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(hit.source == .cache)
        let more = try await application.acquireTokenInteractively(scopes: ["mail.read"])
        #expect(more.scopes.contains("mail.read"))
    }

    @Test func tellsWhatElseThePersonHasToDo() async throws {
        let cases: [(TestIdentityProvider.Fault, AuthenticationError.Code)] = [
            (.refusal("invalid_grant", suberror: "message_only"), .loginRequired),
            (.refusal("invalid_grant", suberror: "additional_action"), .loginRequired),
            (.refusal("invalid_grant", suberror: "user_password_expired"), .loginRequired),
            (.refusal("invalid_grant", suberror: "token_expired", code: 700_082), .signInExpired),
            (.refusal("invalid_grant", code: 53003), .blockedByPolicy),
            (.refusal("interaction_required", code: 50_076), .interactionRequired),
            (.refusal("login_required"), .loginRequired),
        ]
        for (fault, code) in cases {
            let setup = try TestSetup(.entra)
            let (application, first) = try await setup.signedIn()
            setup.clock.advance(by: .seconds(3600))
            setup.provider.failNext(.token, with: fault)
            try await expectError(code) {
                try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            }
            if code == .signInExpired { setup.clock.advance(by: .seconds(60)) }  // for which it is remembered
            let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            #expect(next.source == .identityProvider, "\(code) does not cost the refresh token.")
        }
    }
}
