// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// Several people, several policies, several programs on one cache.
@Suite(.timeLimit(.minutes(1)))
struct AccountScenarioTests {
    private func signIn(
        _ person: TestIdentityProvider.Person,
        to application: PublicClientApplication,
        _ setup: TestSetup
    ) async throws -> AuthenticationResult {
        setup.browser.person = person
        setup.browser.forgetCookies()
        return try await application.acquireTokenInteractively(scopes: ["api.read"])
    }

    @Test(arguments: [TestIdentityProvider.Profile.openIDConnect, .entra, .adfs])
    func keepsSeveralPeopleApart(_ profile: TestIdentityProvider.Profile) async throws {
        let setup = try TestSetup(profile)
        let application = try setup.application()
        let alice = try await signIn(.alice, to: application, setup)
        let bob = try await signIn(.bob, to: application, setup)
        #expect(alice.account.id != bob.account.id)
        #expect(try await application.allAccounts() == [alice.account, bob.account])
        for person in [alice, bob] {
            let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: person.account)
            #expect(hit.source == .cache && hit.accessToken == person.accessToken)
            #expect(try await application.account(withID: person.account.id) == person.account)
            let home = person.account.homeAccountID
            #expect(try await application.account(withHomeAccountID: home) == person.account)
            let username = try #require(person.account.username)
            #expect(try await application.accounts(withUsername: username) == [person.account])
            #expect(try await application.accounts(withUsername: username.uppercased()) == [person.account])
        }
        #expect(try await application.account(withID: Account.ID(rawValue: "nobody")) == nil)
        #expect(try await application.account(withHomeAccountID: "nobody") == nil)
        #expect(try await application.accounts(withUsername: "nobody").isEmpty)

        try await application.remove(alice.account)
        #expect(try await application.allAccounts() == [bob.account])
        let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: bob.account)
        #expect(hit.source == .cache)
        try await application.remove(alice.account)  // a second removal changes nothing
        #expect(try await application.allAccounts() == [bob.account])
    }

    @Test func findsAPersonByHomeAccountID() async throws {
        let setup = try TestSetup(.entra)
        let (application, first) = try await setup.signedIn()
        let home = "aaaaaaaa-0000-4000-8000-000000000001.11111111-2222-4333-8444-555555555555"
        #expect(first.account.homeAccountID == home && first.account.id.rawValue == home)
        #expect(try await application.account(withHomeAccountID: home.uppercased()) == first.account)
    }

    @Test func groupsThePoliciesOfAPerson() async throws {
        let setup = try TestSetup(.b2c)
        let susi = try setup.application()
        let resetAuthority = try setup.provider.authority(policy: "b2c_1_reset")
        let reset = try setup.application { $0.authority = resetAuthority }
        let first = try await susi.acquireTokenInteractively(scopes: ["api.read"])
        let second = try await reset.acquireTokenInteractively(scopes: ["api.read"])
        #expect(first.account.id == second.account.id)
        #expect(try await setup.storedCredentials(of: susi).count == 2)
        for application in [susi, reset] {
            let accounts = try await application.allAccounts()
            #expect(accounts.count == 1)
            let account = try #require(accounts.first)
            #expect(account.id == first.account.id)
            #expect(Set(account.tenantProfiles.compactMap(\.policy)) == ["b2c_1_susi", "b2c_1_reset"])
            #expect(try await application.account(withID: account.id) == account)
            #expect(try await application.account(withHomeAccountID: first.account.homeAccountID) == account)
        }
        // Each policy has its own tokens.
        let hit = try await susi.acquireTokenSilently(scopes: ["api.read"], account: second.account)
        #expect(hit.source == .cache && hit.accessToken == first.accessToken)
        let parameters = SilentParameters(scopes: ["api.read"], account: first.account, authority: resetAuthority)
        let other = try await susi.acquireTokenSilently(parameters)
        #expect(other.source == .cache && other.accessToken == second.accessToken)
        setup.clock.advance(by: .seconds(3600))
        let refreshed = try await susi.acquireTokenSilently(parameters)
        #expect(refreshed.source == .identityProvider)
        #expect(setup.provider.requests.last { $0.endpoint == .token }?.url.contains("b2c_1_reset") == true)

        try await reset.remove(second.account)
        #expect(try await setup.storedCredentials(of: susi).isEmpty)
        #expect(try await susi.allAccounts().isEmpty)
        try await expectError(.noTokensFound) {
            try await susi.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
    }

    @Test func leavesOtherPeoplesPoliciesAlone() async throws {
        let setup = try TestSetup(.b2c)
        let susi = try setup.application()
        let resetAuthority = try setup.provider.authority(policy: "b2c_1_reset")
        let reset = try setup.application { $0.authority = resetAuthority }
        let alice = try await signIn(.alice, to: susi, setup)
        let bob = try await signIn(.bob, to: reset, setup)
        try await susi.remove(alice.account)
        #expect(try await reset.allAccounts() == [bob.account])
        let hit = try await reset.acquireTokenSilently(scopes: ["api.read"], account: bob.account)
        #expect(hit.source == .cache)
    }

    @Test func acceptsTheClientIDAsScopeOfB2C() async throws {
        let setup = try TestSetup(.b2c)
        let (application, first) = try await setup.signedIn(scopes: ["test-client"])
        #expect(first.declinedScopes.isEmpty)
        let hit = try await application.acquireTokenSilently(scopes: ["test-client"], account: first.account)
        #expect(hit.source == .cache)
        setup.clock.advance(by: .seconds(3600))
        let next = try await application.acquireTokenSilently(scopes: ["test-client"], account: first.account)
        #expect(next.source == .identityProvider)
    }

    @Test func sharesAPersonAmongProgramsOfAGroup() async throws {
        let clients = [
            TestIdentityProvider.Client(id: "test-client"), TestIdentityProvider.Client(id: "second-client"),
        ]
        let setup = try TestSetup(.entra, clients: clients)
        let group = try CacheGroup("com.example.suite")
        let one = try setup.application { $0.cacheGroup = group }
        let other = try setup.application {
            $0.cacheGroup = group
            $0.clientID = "second-client"
        }
        let outsider = try setup.application { $0.cacheGroup = try? CacheGroup("com.example.other") }
        let alone = try setup.application()
        let first = try await one.acquireTokenInteractively(scopes: ["api.read"])
        #expect(try await other.allAccounts() == [first.account])
        // The person is known, but this program has no token yet: a token is bound to its client.
        let unknown = try await expectError(.noTokensFound) {
            try await other.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
        #expect(unknown.message.contains("another client of the group may have one"))
        let second = try await other.acquireTokenInteractively(scopes: ["api.read"])
        #expect(second.account.id == first.account.id)
        #expect(try await one.allAccounts().count == 1)
        #expect(try await setup.storedCredentials(of: one).count == 2)

        // Neither rewrites the other's tokens.
        setup.clock.advance(by: .seconds(3600))
        let before = try await setup.storedCredentials(of: one)
        let renewed = try await one.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        let after = try await setup.storedCredentials(of: one)
        #expect(before.filter { after[$0.key] != $0.value }.count == 1)
        let otherRenewed = try await other.acquireTokenSilently(scopes: ["api.read"], account: second.account)
        #expect(otherRenewed.accessToken != renewed.accessToken)
        let sent = setup.provider.requests.filter { $0["grant_type"] == "refresh_token" }
        #expect(sent.map { $0["client_id"] } == ["test-client", "second-client"])
        #expect(Set(sent.map { $0["refresh_token"] }).count == 2)

        for stranger in [outsider, alone] {
            #expect(try await stranger.allAccounts().isEmpty)
            #expect(try await stranger.account(withID: first.account.id) == nil)
            try await expectError(.noTokensFound) {
                try await stranger.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            }
            try await stranger.remove(first.account)
        }
        #expect(try await setup.storedCredentials(of: one).count == 2)

        try await one.remove(first.account)
        #expect(try await setup.storedCredentials(of: one).isEmpty)
        #expect(try await other.allAccounts().isEmpty)
    }

    @Test func keepsGuestsTokensApartFromHomeTokens() async throws {
        let setup = try TestSetup(.entra)
        let guest = TestIdentityProvider.Person(
            username: "carol@partner.test",
            password: "tr0ub4dor",
            name: "Carol Guest",
            subject: "subject-carol",
            objectID: "cccccccc-0000-4000-8000-000000000003",
            homeTenantID: "22222222-2222-4333-8444-555555555555"
        )
        setup.provider.add(guest)
        let application = try setup.application()
        let first = try await signIn(guest, to: application, setup)
        #expect(first.account.id.rawValue == "\(guest.objectID).22222222-2222-4333-8444-555555555555")
        #expect(first.tenantProfile?.tenantID == "11111111-2222-4333-8444-555555555555")
        #expect(first.tenantProfile?.isHomeTenant == false)
        let home = try Authority(url: "https://login.microsoftonline.com/22222222-2222-4333-8444-555555555555")
        let parameters = SilentParameters(scopes: ["api.read"], account: first.account, authority: home)
        let second = try await application.acquireTokenSilently(parameters)
        #expect(second.source == .identityProvider && second.accessToken != first.accessToken)
        #expect(second.tenantProfile?.isHomeTenant == true)
        let hits = try await (
            application.acquireTokenSilently(scopes: ["api.read"], account: first.account),
            application.acquireTokenSilently(parameters)
        )
        #expect(hits.0.accessToken == first.accessToken && hits.0.source == .cache)
        #expect(hits.1.accessToken == second.accessToken && hits.1.source == .cache)
        let listed = try await application.allAccounts()
        #expect(listed.count == 1 && listed.first?.tenantProfiles.count == 2)
    }
}
