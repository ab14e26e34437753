// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// Fewer scopes than requested, and a provider without OpenID Connect.
@Suite(.timeLimit(.minutes(1)))
struct ScopeScenarioTests {
    @Test func tellsWhichScopesWereNotGranted() async throws {
        let setup = try TestSetup { $0.declinedScopes = ["api.write"] }
        let (application, first) = try await setup.signedIn(scopes: ["api.read", "api.write"])
        #expect(first.declinedScopes == ["api.write"])
        #expect(first.scopes.contains("api.read") && !first.scopes.contains("api.write"))
        // The same request gets the same answer without asking the provider again and again.
        let hit = try await application.acquireTokenSilently(
            scopes: ["api.read", "api.write"],
            account: first.account
        )
        #expect(hit.source == .cache && hit.declinedScopes == ["api.write"])
        #expect(setup.provider.count(of: .token) == 1)
    }

    /// RFC 6749 §6: a refresh without scopes yields the granted ones, and a refresh with more scopes is refused.
    @Test func asksNobodyAgainForWhatWasNotGranted() async throws {
        let setup = try TestSetup { $0.declinedScopes = ["api.write"] }
        let (application, first) = try await setup.signedIn(scopes: ["api.read", "api.write"])
        for count in 2...3 {
            setup.clock.advance(by: .seconds(3600))
            for source in [AuthenticationResult.Source.identityProvider, .cache] {
                let next = try await application.acquireTokenSilently(
                    scopes: ["api.read", "api.write"],
                    account: first.account
                )
                #expect(next.source == source && next.declinedScopes == ["api.write"])
                #expect(next.scopes.contains("api.read") && !next.scopes.contains("api.write"))
            }
            #expect(setup.provider.count(of: .token) == count)
            #expect(setup.provider.requests.last { $0.endpoint == .token }?["scope"] == nil)
        }
        // A request for only the declined scope, or for a scope that was never requested, requires the person.
        for scopes in [["api.write"], ["api.read", "api.more"]] as [Set<Scope>] {
            try await expectError(.consentRequired) {
                try await application.acquireTokenSilently(scopes: scopes, account: first.account)
            }
        }
    }

    /// RFC 8707 §2: consent to a scope would not make its API known.
    @Test(arguments: [("invalid_target", AuthenticationError.Code.invalidTarget), ("invalid_resource", .invalidScope)])
    func asksNobodyToAgreeToAnUnknownAPI(_ refusal: String, _ code: AuthenticationError.Code) async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.provider.failNext(.token, with: .refusal(refusal))
        try await expectError(code) {
            try await application.acquireTokenSilently(scopes: ["api.more"], account: first.account)
        }
        #expect(setup.provider.requests.last { $0.endpoint == .token }?["scope"]?.contains("api.more") == true)
    }

    /// Each request finds the answer of the other. Otherwise every call would be a refresh.
    @Test func answersEveryWishWithinWhatThePersonWasAskedFor() async throws {
        let setup = try TestSetup { $0.declinedScopes = ["api.write"] }
        let (application, first) = try await setup.signedIn(scopes: ["api.read", "api.more", "api.write"])
        setup.clock.advance(by: .seconds(3600))
        for _ in 1...2 {
            for scope in ["api.read", "api.more"] as [Scope] {
                let next = try await application.acquireTokenSilently(
                    scopes: [scope, "api.write"],
                    account: first.account
                )
                #expect(next.scopes.contains(scope) && next.declinedScopes == ["api.write"])
            }
        }
        #expect(setup.provider.count(of: .token) == 2)
    }

    /// A server may omit the scopes if it grants the same ones as before.
    @Test func knowsWhatWasGrantedWhereARefreshDoesNotSay() async throws {
        let setup = try TestSetup { $0.declinedScopes = ["api.write"] }
        let (application, first) = try await setup.signedIn(scopes: ["api.read", "api.write"])
        setup.clock.advance(by: .seconds(3600))
        setup.provider.failNext(.token, with: .changing("scope", to: nil))
        for source in [AuthenticationResult.Source.identityProvider, .cache] {
            let next = try await application.acquireTokenSilently(
                scopes: ["api.read", "api.write"],
                account: first.account
            )
            #expect(next.source == source && next.declinedScopes == ["api.write"])
        }
    }

    /// Records of an earlier version do not contain the declined scopes.
    @Test func asksAsBeforeWhereTheRecordSaysNothing() async throws {
        let setup = try TestSetup { $0.declinedScopes = ["api.write"] }
        let (application, first) = try await setup.signedIn(scopes: ["api.read", "api.write"])
        let (key, record) = try #require(try await setup.storedCredentials(of: application).first)
        let earlier = String(decoding: record.bytes, as: UTF8.self)
            .replacing(#""declined_target":"api.write","#, with: "")
        #expect(!earlier.contains("declined_target"))
        #expect(try await setup.cache.replace(record, with: CacheRecord(bytes: Array(earlier.utf8)), for: key))
        setup.clock.advance(by: .seconds(3600))
        try await expectError(.consentRequired) {
            try await application.acquireTokenSilently(scopes: ["api.read", "api.write"], account: first.account)
        }
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider)
    }

    @Test func refusesWhenNothingWasGrantedButRemembersThePerson() async throws {
        let setup = try TestSetup { $0.declinedScopes = ["api.write"] }
        let application = try setup.application()
        try await expectError(.scopesDeclined) {
            try await application.acquireTokenInteractively(scopes: ["api.write"])
        }
        #expect(try await application.allAccounts().count == 1)
        #expect(try await setup.browser.finalPage().body != "succeeded")
    }

    @Test func signsInWhereNobodyTellsWhoItIs() async throws {
        let setup = try TestSetup { $0.requiresOfflineAccess = false }
        let authority = try Authority.oauth2(
            .init(authorization: "https://login.example.test/authorize", token: "https://login.example.test/token")
        )
        let (application, first) = try await setup.signedIn { $0.authority = authority }
        #expect(first.idToken == nil && !first.account.id.rawValue.isEmpty)
        #expect(setup.provider.count(of: .discovery) == 0 && setup.provider.count(of: .keys) == 0)
        let sent = try #require(setup.provider.requests.first { $0.endpoint == .authorization })
        #expect(sent["scope"] == "api.read" && sent["nonce"] == nil)
        let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(hit.source == .cache)
        setup.clock.advance(by: .seconds(3600))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider)

        // A new sign-in for this account yields the same account; without a given account it creates another one.
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.account = first.account
        let again = try await application.acquireTokenInteractively(parameters)
        #expect(again.account.id == first.account.id)
        let other = try await application.acquireTokenInteractively(scopes: ["api.read"])
        #expect(other.account.id != first.account.id)
        #expect(try await application.allAccounts().count == 2)
        try await application.remove(other.account)
        #expect(try await application.allAccounts().map(\.id) == [first.account.id])
    }
}
