// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTesting
import Testing

/// One person at a time, several people by choice, and a sign-out that the next sign-in takes into account.
@Suite(.timeLimit(.minutes(1)))
struct CurrentAccountScenarioTests {
    private func signIn(
        _ person: TestIdentityProvider.Person,
        to application: PublicClientApplication,
        _ stage: Stage
    ) async throws -> Account {
        stage.browser.person = person
        return try await application.acquireTokenInteractively(scopes: ["api.read"]).account
    }

    private func prompt(_ stage: Stage) throws -> String? {
        try #require(stage.provider.requests.last { $0.endpoint == .authorization })["prompt"]
    }

    @Test func isSeenByOtherProcesses() async throws {
        let stage = try Stage()
        let (here, there) = (try stage.application(), try stage.application())
        #expect(try await there.currentAccount() == CurrentAccount(current: nil))
        let alice = try await signIn(.alice, to: here, stage)
        #expect(try await there.currentAccount() == CurrentAccount(current: alice))
        stage.browser.forgetCookies()
        let bob = try await signIn(.bob, to: there, stage)
        #expect(try await here.currentAccount() == CurrentAccount(current: bob, previous: alice))
        try await here.setCurrentAccount(alice)
        #expect(try await there.currentAccount() == CurrentAccount(current: alice, previous: bob))
        try await there.remove(alice)
        #expect(try await here.currentAccount().current == bob)
        #expect(try await here.currentAccount().previous?.username == alice.username)
        try await here.signOut(bob)
        #expect(try await there.currentAccount().current == nil)
        #expect(try await there.currentAccount().previous?.id == bob.id)
        try await expectError(.noTokensFound) { try await here.setCurrentAccount(bob) }
    }

    @Test func opensTheBrowserOnlyWhereAPersonIsNeeded() async throws {
        let stage = try Stage()
        let application = try stage.application()
        let first = try await application.acquireToken(scopes: ["api.read"])
        #expect(first.source == .identityProvider && stage.provider.count(of: .authorization) == 1)
        #expect(try await application.acquireToken(scopes: ["api.read"]).source == .cache)
        stage.clock.advance(by: .seconds(7200))
        stage.transport.isOffline = true
        try await expectError(.connectionFailed) { try await application.acquireToken(scopes: ["api.read"]) }
        #expect(stage.provider.count(of: .authorization) == 1)
        stage.transport.isOffline = false
        stage.provider.revokeSessions(of: .alice)
        // The sign-in is for the given account: another person's sign-in is refused.
        stage.browser.forgetCookies()
        stage.browser.person = .bob
        try await expectError(.accountMismatch) {
            try await application.acquireToken(scopes: ["api.read"], account: first.account)
        }
        stage.browser.forgetCookies()
        stage.browser.person = .alice
        #expect(try await application.acquireToken(scopes: ["api.read"]).account.id == first.account.id)
    }

    @Test func letsThePersonChooseWhereNoAccountWasChosen() async throws {
        let stage = try Stage()
        let application = try stage.application()
        let carol = TestIdentityProvider.Person(
            username: "carol@example.test",
            password: "battery staple",
            name: "Carol Example",
            subject: "subject-carol",
            objectID: "cccccccc-0000-4000-8000-000000000003"
        )
        stage.provider.add(carol)
        for person in [TestIdentityProvider.Person.alice, .bob] {
            _ = try await signIn(person, to: application, stage)
            stage.browser.forgetCookies()
        }
        try await application.remove(try await signIn(carol, to: application, stage))
        stage.browser.forgetCookies()
        stage.browser.person = .bob
        #expect(try await application.acquireToken(scopes: ["api.read"]).account.username == "bob@example.test")
        #expect(try prompt(stage) == "select_account")
        #expect(try await application.acquireToken(scopes: ["api.read"]).source == .cache)
    }

    @Test(arguments: [
        (TestIdentityProvider.Profile.openIDConnect, "login"), (.entra, "select_account"), (.b2c, "login"),
    ])
    func asksAgainAfterASignOut(_ profile: TestIdentityProvider.Profile, _ expected: String) async throws {
        let stage = try Stage(profile)
        let application = try stage.application()
        let alice = try await signIn(.alice, to: application, stage)
        #expect(try prompt(stage) == nil)
        _ = try await signIn(.alice, to: application, stage)
        #expect(try prompt(stage) == nil)

        try await application.remove(alice)
        let other = try stage.application()  // another process
        _ = try await signIn(.alice, to: other, stage)
        #expect(try prompt(stage) == expected)
        _ = try await signIn(.alice, to: application, stage)
        #expect(try prompt(stage) == nil)
    }

    @Test func asksTheAccountThatSignedOutForItsPassword() async throws {
        let stage = try Stage(.entra)
        let application = try stage.application()
        let alice = try await signIn(.alice, to: application, stage)
        stage.browser.forgetCookies()
        let bob = try await signIn(.bob, to: application, stage)
        try await application.remove(alice)
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.account = bob
        _ = try await application.acquireTokenInteractively(parameters)
        #expect(try prompt(stage) == nil)
        parameters.account = alice
        stage.browser.person = .alice
        _ = try await application.acquireTokenInteractively(parameters)
        #expect(try prompt(stage) == "login")
    }

    @Test func leavesThePromptOfTheProgramAlone() async throws {
        let stage = try Stage()
        let application = try stage.application()
        try await application.remove(try await signIn(.alice, to: application, stage))
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.prompt = .consent
        _ = try await application.acquireTokenInteractively(parameters)
        #expect(try prompt(stage) == "consent")
    }

    @Test func asksAgainWhenAnotherProgramOfTheGroupSignedOut() async throws {
        let clients = [
            TestIdentityProvider.Client(id: "test-client"), TestIdentityProvider.Client(id: "second-client"),
        ]
        let stage = try Stage(clients: clients)
        let group = try CacheGroup("com.example.suite")
        let one = try stage.application { $0.cacheGroup = group }
        let other = try stage.application {
            $0.cacheGroup = group
            $0.clientID = "second-client"
        }
        let alice = try await signIn(.alice, to: one, stage)
        try await other.remove(alice)
        #expect(
            try await one.currentAccount()
                == CurrentAccount(
                    current: nil,
                    previous: Account(
                        id: alice.id,
                        environment: alice.environment,
                        username: alice.username,
                        homeAccountID: alice.homeAccountID
                    )
                )
        )
        _ = try await signIn(.alice, to: one, stage)
        #expect(try prompt(stage) == "login")
    }

    @Test func signsInAndOutWhereItCannotBeRemembered() async throws {
        let cache = UnreliableCache()
        let stage = try Stage(cache: cache)
        cache.refusedWrites = [.application]
        let (application, first) = try await stage.signedIn()
        #expect(try await application.currentAccount().current == first.account)
        try await application.remove(first.account)
        #expect(try await application.allAccounts().isEmpty)
    }
}
