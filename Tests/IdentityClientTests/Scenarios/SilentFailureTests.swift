// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
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
        let stage = try Stage()
        let (application, first) = try await stage.signedIn()
        stage.clock.advance(by: .seconds(3400))
        stage.provider.failAlways(.token, with: Self.failures[index])
        let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(hit.source == .cache && hit.accessToken == first.accessToken)
        #expect(stage.provider.count(of: .token) > 1)
    }

    /// Exact Online refuses a refresh until 30 s before a token's ten minutes end, and blocks a program after ten such requests
    /// in an hour.
    @Test func asksOnceAMinuteWhileTheTokenIsStillGood() async throws {
        let stage = try Stage { $0.accessTokenLifetime = .seconds(600) }
        let (application, first) = try await stage.signedIn()
        stage.clock.advance(by: .seconds(541))
        stage.provider.failAlways(.token, with: .refusal("access_denied", status: 401))
        stage.provider.forgetRequests()
        for _ in 0..<20 {
            let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            #expect(hit.accessToken == first.accessToken)
            stage.clock.advance(by: .seconds(2))
        }
        #expect(stage.provider.count(of: .token) == 1)

        // A caller that forces a refresh gets the error.
        try await expectError(.signInExpired) {
            try await application.acquireTokenSilently(
                SilentParameters(scopes: ["api.read"], account: first.account, forcesRefresh: true)
            )
        }
        // A new token is requested when the old one has expired.
        stage.provider.failAlways(.token, with: nil)
        stage.clock.advance(by: .seconds(19))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider)
    }

    @Test func returnsATokenThatIsStillGoodWhenOffline() async throws {
        let stage = try Stage()
        let (application, first) = try await stage.signedIn()
        stage.clock.advance(by: .seconds(3400))
        stage.transport.isOffline = true
        // A program that starts without network has nothing in memory.
        for application in [application, try stage.application()] {
            let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            #expect(hit.source == .cache && hit.accessToken == first.accessToken)
        }
        // No server was reached, so the next call need not wait a minute.
        stage.transport.isOffline = false
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider)
    }

    @Test(arguments: [TestIdentityProvider.Profile.openIDConnect, .entra, .externalID, .b2c, .adfs])
    func neverSendsThePersonToSignInForWantOfANetwork(_ profile: TestIdentityProvider.Profile) async throws {
        let stage = try Stage(profile)
        let (application, first) = try await stage.signedIn()
        stage.clock.advance(by: .seconds(3601))
        stage.transport.isOffline = true
        for application in [application, try stage.application()] {
            let error = try await expectError(.connectionFailed) {
                try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            }
            #expect(AuthenticationError.network ~= error.code)
        }
        stage.clock.advance(by: .seconds(3 * 86_400))  // even after the published documents are stale
        try await expectError(.connectionFailed) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        stage.transport.isOffline = false
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider)
    }

    /// A program that signs in whenever a person is needed would loop forever, because the blocking page stays.
    @Test(arguments: [403, 404, 407, 451])
    func neverSendsThePersonToSignInForAFirewallsPage(_ status: Int) async throws {
        let stage = try Stage()
        let (application, first) = try await stage.signedIn()
        let before = try await stage.storedCredentials(of: application)
        stage.clock.advance(by: .seconds(3600))
        stage.provider.failAlways(.token, with: WrongAnswer.blockPage(status: status))
        for interacts in [false, true] {
            let error = try await expectError(.malformedResponse) {
                guard interacts else {
                    return try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
                }
                return try await application.acquireTokenInteractively(scopes: ["api.read"])
            }
            #expect(!(.interactionRequired ~= error.code) && error.serverError?.httpStatus == status)
            #expect(error.message.contains("\(status)") && error.message.contains("captive portal"))
        }
        #expect(stage.provider.count(of: .token) == 3, "Nothing is sent twice.")
        #expect(try await stage.storedCredentials(of: application) == before)
        stage.provider.failAlways(.token, with: nil)
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider)
    }

    @Test(arguments: [429, 503])
    func asksNoSecondTimeBeforeTheServerWants(_ status: Int) async throws {
        let stage = try Stage()
        let (application, first) = try await stage.signedIn()
        stage.clock.advance(by: .seconds(3600))
        stage.provider.failNext(
            .token,
            with: status == 429
                ? .throttled(retryAfter: .seconds(60)) : .serverError(status: status, retryAfter: .seconds(60))
        )
        let error = try await expectError(status == 429 ? .throttled : .serverUnavailable) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        #expect(error.retryAfter == .seconds(60))
        stage.clock.advance(by: .seconds(20))
        let again = try await expectError(.throttled) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        #expect(again.retryAfter == .seconds(40))
        #expect(stage.provider.count(of: .token) == 2)
        stage.clock.advance(by: .seconds(41))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider)
        #expect(stage.provider.count(of: .token) == 3)
    }

    @Test func letsTheInteractiveSignInPassAThrottledRenewal() async throws {
        let stage = try Stage()
        let (application, first) = try await stage.signedIn()
        stage.clock.advance(by: .seconds(3600))
        stage.provider.failNext(.token, with: .throttled(retryAfter: .seconds(600)))
        try await expectError(.throttled) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        let next = try await application.acquireTokenInteractively(scopes: ["api.read"])
        let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(hit.accessToken == next.accessToken)
    }

    @Test func asksOnceMoreWhenTheAnswerWasLostAndTheServerIsPatient() async throws {
        let stage = try Stage { $0.reuseGracePeriod = .seconds(30) }
        let (application, first) = try await stage.signedIn()
        for fault in [TestIdentityProvider.Fault.dropAfterCommit, .truncated, .notUTF8] {
            stage.clock.advance(by: .seconds(3600))
            let before = stage.provider.count(of: .token)
            stage.provider.failNext(.token, with: fault)
            let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            #expect(next.source == .identityProvider)
            #expect(stage.provider.count(of: .token) == before + 2)
        }
    }

    @Test func asksOnceWhereTheProgramSaysThatTheServerIsNotPatient() async throws {
        let stage = try Stage()
        let (application, first) = try await stage.signedIn { $0.compatibility.retriesUnansweredRefreshes = false }
        stage.clock.advance(by: .seconds(3600))
        let before = stage.provider.count(of: .token)
        stage.provider.failNext(.token, with: .serverError())
        try await expectError(.serverUnavailable) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        #expect(stage.provider.count(of: .token) == before + 1)
    }

    @Test func keepsTheRefreshTokenUntilTheServerHasSpoken() async throws {
        let stage = try Stage()
        let (application, first) = try await stage.signedIn()
        let before = try await stage.storedCredentials(of: application)
        stage.clock.advance(by: .seconds(3600))
        stage.provider.failNext(.token, with: .dropAfterCommit, .drop)
        try await expectError(.connectionFailed) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        #expect(try await stage.storedCredentials(of: application) == before)
        #expect(stage.provider.count(of: .token) == 3)
        // Without a grace period this is a reuse, which the server refuses: now a person is needed.
        try await expectError(.signInExpired) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        #expect(try await application.allAccounts() == [first.account])
    }

    @Test func dropsARefreshTokenThatTheServerDeclaredDead() async throws {
        let stage = try Stage(.entra)
        let (application, first) = try await stage.signedIn()
        stage.clock.advance(by: .seconds(3600))
        stage.provider.revokeSessions(of: .alice)
        try await expectError(.signInExpired) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        #expect(stage.provider.count(of: .token) == 2)
        try await expectError(.noTokensFound) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        #expect(stage.provider.count(of: .token) == 2)
        #expect(try await application.allAccounts() == [first.account])
        let next = try await application.acquireTokenInteractively(scopes: ["api.read"])
        #expect(next.account.id == first.account.id)
    }

    @Test func keepsTheRefreshTokenWhenMoreIsAskedOfThePerson() async throws {
        let stage = try Stage(.entra)
        let (application, first) = try await stage.signedIn()
        stage.clock.advance(by: .seconds(3600))
        stage.provider.requireSecondFactor(of: .alice)
        for _ in 0..<2 {
            let error = try await expectError(.basicAction) {
                try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            }
            #expect(error.claims?.contains("polids") == true)
            #expect(error.serverError?.suberror == "basic_action")
        }
        #expect(stage.provider.count(of: .token) == 3, "The refresh token is still there to be sent.")
        _ = try await application.acquireTokenInteractively(scopes: ["api.read"])
        let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(hit.source == .cache)
    }

    @Test func tellsWhoHasToConsent() async throws {
        let stage = try Stage(.entra) { settings in
            settings.consentScopes = ["mail.read"]
            settings.adminConsentScopes = ["directory.all"]
        }
        let (application, first) = try await stage.signedIn()
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
            (.refusal("invalid_grant", suberror: "message_only"), .messageOnly),
            (.refusal("invalid_grant", suberror: "additional_action"), .additionalAction),
            (.refusal("invalid_grant", suberror: "user_password_expired"), .passwordExpired),
            (.refusal("invalid_grant", suberror: "token_expired", code: 700_082), .signInExpired),
            (.refusal("invalid_grant", code: 53003), .blockedByPolicy),
            (.refusal("interaction_required", code: 50_076), .interactionRequired),
            (.refusal("login_required"), .loginRequired),
        ]
        for (fault, code) in cases {
            let stage = try Stage(.entra)
            let (application, first) = try await stage.signedIn()
            stage.clock.advance(by: .seconds(3600))
            stage.provider.failNext(.token, with: fault)
            try await expectError(code) {
                try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            }
            if code == .signInExpired { stage.clock.advance(by: .seconds(60)) }  // until the refusal expires
            let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            #expect(next.source == .identityProvider, "\(code) does not cost the refresh token.")
        }
    }
}
