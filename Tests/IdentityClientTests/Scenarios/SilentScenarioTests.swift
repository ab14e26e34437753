// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// When the cache answers, when the provider is asked, and the content of the request.
@Suite(.timeLimit(.minutes(1)))
struct SilentScenarioTests {
    @Test func answersForAnySubsetOfTheScopes() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn(scopes: ["api.read", "api.write", "mail.read"])
        let subsets: [Set<Scope>] = [
            ["api.read"], ["api.write", "mail.read"], ["mail.read", "api.read", "api.write"],
            ["api.read", "openid", "offline_access"],
        ]
        for scopes in subsets {
            let hit = try await application.acquireTokenSilently(scopes: scopes, account: first.account)
            #expect(hit.source == .cache && hit.accessToken == first.accessToken)
            #expect(hit.declinedScopes.isEmpty)
        }
        #expect(setup.provider.count(of: .token) == 1)
    }

    @Test func asksForScopesThatTheTokenLacks() async throws {
        let setup = try TestSetup(.entra)
        let (application, first) = try await setup.signedIn(scopes: ["api.read"])
        let other = try await application.acquireTokenSilently(scopes: ["mail.read"], account: first.account)
        #expect(other.source == .identityProvider && other.accessToken != first.accessToken)
        #expect(other.scopes.contains("mail.read") && !other.scopes.contains("api.read"))
        // Both tokens are now cached. Entra's scopes are compared case-insensitively.
        let hit = try await application.acquireTokenSilently(scopes: ["API.Read"], account: first.account)
        #expect(hit.source == .cache && hit.accessToken == first.accessToken)
        let otherHit = try await application.acquireTokenSilently(scopes: ["mail.read"], account: first.account)
        #expect(otherHit.source == .cache && otherHit.accessToken == other.accessToken)
    }

    /// This provider issues tokens for at most an hour.
    @Test func renewsATokenThatIsNotGoodForAsLongAsIsAskedFor() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        func source(_ minimum: Duration) async throws -> AuthenticationResult.Source {
            let parameters = SilentParameters(
                scopes: ["api.read"],
                account: first.account,
                minimumValidity: minimum
            )
            return try await application.acquireTokenSilently(parameters).source
        }
        setup.clock.advance(by: .seconds(1200))
        #expect(try await source(.seconds(2399)) == .cache)
        #expect(try await source(.milliseconds(2_399_001)) == .identityProvider)
        for _ in 1...2 { #expect(try await source(.seconds(7200)) == .cache) }
        setup.clock.advance(by: .seconds(360))
        #expect(try await source(.seconds(7200)) == .identityProvider)
        #expect(setup.provider.count(of: .token) == 3)
        // Where it cannot be renewed, what is there is given.
        setup.clock.advance(by: .seconds(1200))
        setup.provider.failAlways(.token, with: .serverError())
        #expect(try await source(.seconds(3000)) == .cache)
        try await expectError(.invalidArgument) { try await source(.seconds(-1)) }
    }

    @Test func sendsThePersonToConsentForMoreThanWasGranted() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        try await expectError(.consentRequired) {
            try await application.acquireTokenSilently(scopes: ["mail.read"], account: first.account)
        }
        let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(hit.source == .cache)
        setup.clock.advance(by: .seconds(3600))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider, "The refusal of more does not cost what there is.")
    }

    @Test func findsThePersonThroughAnAliasOfTheHost() async throws {
        let setup = try TestSetup(.entra)
        let (_, first) = try await setup.signedIn()
        let alias = try Authority(url: "https://login.windows.net/11111111-2222-4333-8444-555555555555")
        let application = try setup.application { $0.authority = alias }
        #expect(try await application.allAccounts() == [first.account])
        let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(hit.source == .cache && hit.accessToken == first.accessToken)
        setup.clock.advance(by: .seconds(3600))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider)
        let back = try setup.application()
        let hitBack = try await back.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(hitBack.source == .cache && hitBack.accessToken == next.accessToken)
    }

    @Test(arguments: ["common", "organizations"])
    func findsTheHomeTenantsTokenThroughAnAuthorityForMany(_ tenant: String) async throws {
        let setup = try TestSetup(.entra)
        let authority = try Authority(url: "https://login.microsoftonline.com/\(tenant)")
        let (application, first) = try await setup.signedIn { $0.authority = authority }
        let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(hit.source == .cache)
        setup.clock.advance(by: .seconds(3600))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider)
        let sent = try #require(setup.provider.requests.last { $0.endpoint == .token })
        #expect(sent.url.contains("11111111-2222-4333-8444-555555555555"))
    }

    // Lifetime, age at which the token is still used, age at which it is renewed.
    @Test(arguments: [(3600, 3299, 3301), (600, 539, 541), (60, 53, 55), (7200, 6899, 6901)])
    func renewsBeforeTheEnd(_ lifetime: Int, _ good: Int, _ renewed: Int) async throws {
        let setup = try TestSetup { $0.accessTokenLifetime = .seconds(lifetime) }
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(good))
        let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(hit.source == .cache)
        setup.clock.advance(by: .seconds(renewed - good))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider && next.accessToken != first.accessToken)
        let again = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(again.source == .cache && again.accessToken == next.accessToken)
    }

    @Test func renewsAsLateAsTheProgramWants() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn { $0.expirationLeeway = .seconds(10) }
        setup.clock.advance(by: .seconds(3589))
        let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(hit.source == .cache)
        setup.clock.advance(by: .seconds(2))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider)
    }

    @Test func renewsInTheBackgroundWhenTheServerWishes() async throws {
        let setup = try TestSetup { $0.refreshIn = .seconds(1800) }
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(1980))
        let gate = TestGate()
        setup.provider.failNext(.token, with: .held(by: gate))
        for _ in 0..<10 {
            let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            #expect(hit.source == .cache && hit.accessToken == first.accessToken)
        }
        gate.open()
        try await application.finishPendingWork(within: .seconds(15))
        #expect(setup.provider.count(of: .token) == 2)
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .cache && next.accessToken != first.accessToken)
    }

    @Test func staysQuietWhenABackgroundRenewalFails() async throws {
        let setup = try TestSetup { $0.refreshIn = .seconds(1800) }
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(1980))
        setup.transport.isOffline = true
        let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(hit.accessToken == first.accessToken)
        try await application.finishPendingWork(within: .seconds(15))
        setup.transport.isOffline = false
        setup.clock.advance(by: .seconds(60))
        _ = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        try await application.finishPendingWork(within: .seconds(15))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .cache && next.accessToken != first.accessToken)
    }

    /// The token is still valid: a program that asks before every API call must not cause a refresh each time.
    @Test func triesToRenewInTheBackgroundOnceAMinute() async throws {
        let setup = try TestSetup { $0.refreshIn = .seconds(1800) }
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(1980))
        setup.provider.failAlways(.token, with: .refusal("temporarily_unavailable", status: 400))
        for minute in 1...2 {
            for _ in 0..<5 {
                _ = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
                try await application.finishPendingWork(within: .seconds(15))
            }
            #expect(setup.provider.requests.count { $0["refresh_token"] != nil } == minute)
            setup.clock.advance(by: .seconds(60))
        }
    }

    /// The same applies to a renewal that never began because the previous refresh met a silent network.
    @Test func triesToRenewInTheBackgroundOnceAMinuteWhereTheNetworkIsSilent() async throws {
        let setup = try TestSetup { $0.refreshIn = .seconds(1800) }
        let (application, first) = try await setup.signedIn { $0.compatibility.retriesUnansweredRefreshes = false }
        setup.clock.advance(by: .seconds(1980))
        let gate = TestGate()
        setup.provider.failNext(.token, with: .held(by: gate, then: .drop))
        let forced = Task.immediate {
            try await application.acquireTokenSilently(
                SilentParameters(scopes: ["api.read"], account: first.account, forcesRefresh: true)
            )
        }
        try await setup.provider.waitForRequest(.token, count: 2)
        _ = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(try await !application.finishPendingWork(within: .milliseconds(10)))
        gate.open()
        try await expectError(.connectionFailed) { try await forced.value }
        #expect(try await application.finishPendingWork(within: .seconds(30)))
        let sent = setup.transport.count
        for _ in 0..<5 {
            _ = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            try await application.finishPendingWork(within: .seconds(15))
        }
        #expect(setup.transport.count == sent)
    }

    @Test func renewsWhenForced() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        var parameters = SilentParameters(scopes: ["api.read"], account: first.account, forcesRefresh: true)
        parameters.correlationID = UUID()
        let next = try await application.acquireTokenSilently(parameters)
        #expect(next.source == .identityProvider && next.accessToken != first.accessToken)
        #expect(next.correlationID == parameters.correlationID)
        // A forced renewal that fails is not answered with what the program wanted to get rid of.
        setup.transport.isOffline = true
        try await expectError(.connectionFailed) { try await application.acquireTokenSilently(parameters) }
        let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(hit.source == .cache && hit.accessToken == next.accessToken)
    }

    @Test func passesTheCacheByForClaims() async throws {
        let setup = try TestSetup(.entra)
        let (application, first) = try await setup.signedIn()
        let claims = #"{"access_token":{"nbf":{"essential":true,"value":"1"}}}"#
        let parameters = SilentParameters(scopes: ["api.read"], account: first.account, claims: claims)
        let next = try await application.acquireTokenSilently(parameters)
        #expect(next.source == .identityProvider)
        #expect(setup.provider.requests.last { $0.endpoint == .token }?["claims"] == claims)
        let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(hit.source == .cache && hit.accessToken == next.accessToken)
    }

    @Test func knowsNothingOfSomebodyWhoIsNotSignedIn() async throws {
        let setup = try TestSetup()
        let application = try setup.application()
        let stranger = Account(id: Account.ID(rawValue: "nobody"), environment: "login.example.test")
        let error = try await expectError(.noTokensFound) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: stranger)
        }
        #expect(AuthenticationError.Code.interactionRequired ~= error)
        #expect(setup.transport.count == 0)
    }

    // Set back: the token's remaining lifetime is unknown, so the token is renewed. Set forward: the token has expired.
    @Test(arguments: [-86_400, 86_400])
    func survivesAClockThatIsSet(_ seconds: Int) async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(seconds))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider && next.accessToken != first.accessToken)
        #expect(next.expiresOn == setup.clock.now.addingTimeInterval(3600))
        setup.clock.advance(by: .seconds(-seconds))
        let last = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(last.source == .identityProvider || last.expiresOn > setup.clock.now)
        let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(hit.source == .cache && hit.accessToken == last.accessToken)
    }

    @Test func bearsAClockThatIsSetWhileTheServersIsRight() async throws {
        let setup = try TestSetup()
        let local = ManualClock(now: setup.clock.now.addingTimeInterval(-86_400))
        let application = try setup.application { $0.clock = local }
        let error = try await expectError(.invalidIDToken) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(error.message.contains("clock"))
        local.advance(by: .seconds(86_400))
        let first = try await application.acquireTokenInteractively(scopes: ["api.read"])
        #expect(first.source == .identityProvider)
    }
}
