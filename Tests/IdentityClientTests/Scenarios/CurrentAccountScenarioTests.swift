// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// One person at a time, several people by choice, and a sign-out that the next sign-in takes into account.
@Suite(.timeLimit(.minutes(1)))
struct CurrentAccountScenarioTests {
    private func signIn(
        _ person: TestIdentityProvider.Person,
        to application: PublicClientApplication,
        _ setup: TestSetup
    ) async throws -> Account {
        setup.browser.person = person
        return try await application.acquireTokenInteractively(scopes: ["api.read"]).account
    }

    private func prompt(_ setup: TestSetup) throws -> String? {
        try #require(setup.provider.requests.last { $0.endpoint == .authorization })["prompt"]
    }

    @Test func isSeenByOtherProcesses() async throws {
        let setup = try TestSetup()
        let (here, there) = (try setup.application(), try setup.application())
        #expect(try await there.currentAccount() == CurrentAccount(current: nil))
        let alice = try await signIn(.alice, to: here, setup)
        #expect(try await there.currentAccount() == CurrentAccount(current: alice))
        setup.browser.forgetCookies()
        let bob = try await signIn(.bob, to: there, setup)
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

    @Test func callersAtTheSameTimeShareOneSignIn() async throws {
        let setup = try TestSetup()
        let application = try setup.application()
        let callers = (0..<4).map { _ in
            Task.immediate { try await application.acquireTokenSilentlyOrInteractively(scopes: ["api.read"]) }
        }
        var tokens: Set<String> = []
        for caller in callers { tokens.insert(try await caller.value.accessToken) }
        #expect(tokens.count == 1 && setup.provider.count(of: .authorization) == 1)
    }

    @Test func opensTheBrowserOnlyWhereAPersonIsNeeded() async throws {
        let setup = try TestSetup()
        let application = try setup.application()
        let first = try await application.acquireTokenSilentlyOrInteractively(scopes: ["api.read"])
        #expect(first.source == .identityProvider && setup.provider.count(of: .authorization) == 1)
        #expect(try await application.acquireTokenSilentlyOrInteractively(scopes: ["api.read"]).source == .cache)
        setup.clock.advance(by: .seconds(7200))
        setup.transport.isOffline = true
        try await expectError(.connectionFailed) {
            try await application.acquireTokenSilentlyOrInteractively(scopes: ["api.read"])
        }
        #expect(setup.provider.count(of: .authorization) == 1)
        setup.transport.isOffline = false
        setup.provider.revokeSessions(of: .alice)
        // For the account that it was: another person's sign-in is refused.
        setup.browser.forgetCookies()
        setup.browser.person = .bob
        try await expectError(.accountMismatch) {
            try await application.acquireTokenSilentlyOrInteractively(scopes: ["api.read"], account: first.account)
        }
        setup.browser.forgetCookies()
        setup.browser.person = .alice
        #expect(
            try await application.acquireTokenSilentlyOrInteractively(scopes: ["api.read"]).account.id
                == first.account.id
        )
    }

    @Test func letsThePersonChooseWhereNoAccountWasChosen() async throws {
        let setup = try TestSetup()
        let application = try setup.application()
        let carol = TestIdentityProvider.Person(
            username: "carol@example.test",
            password: "battery staple",
            name: "Carol Example",
            subject: "subject-carol",
            objectID: "cccccccc-0000-4000-8000-000000000003"
        )
        setup.provider.add(carol)
        for person in [TestIdentityProvider.Person.alice, .bob] {
            _ = try await signIn(person, to: application, setup)
            setup.browser.forgetCookies()
        }
        try await application.remove(try await signIn(carol, to: application, setup))
        setup.browser.forgetCookies()
        setup.browser.person = .bob
        #expect(
            try await application.acquireTokenSilentlyOrInteractively(scopes: ["api.read"]).account.username
                == "bob@example.test"
        )
        #expect(try prompt(setup) == "select_account")
        #expect(try await application.acquireTokenSilentlyOrInteractively(scopes: ["api.read"]).source == .cache)
    }

    @Test(arguments: [
        (TestIdentityProvider.Profile.openIDConnect, "login"), (.entra, "select_account"), (.b2c, "login"),
    ])
    func asksAgainAfterASignOut(_ profile: TestIdentityProvider.Profile, _ expected: String) async throws {
        let setup = try TestSetup(profile)
        let application = try setup.application()
        let alice = try await signIn(.alice, to: application, setup)
        #expect(try prompt(setup) == nil)
        _ = try await signIn(.alice, to: application, setup)
        #expect(try prompt(setup) == nil)

        try await application.remove(alice)
        let other = try setup.application()  // another process
        _ = try await signIn(.alice, to: other, setup)
        #expect(try prompt(setup) == expected)
        _ = try await signIn(.alice, to: application, setup)
        #expect(try prompt(setup) == nil)
    }

    @Test func asksTheAccountThatSignedOutForItsPassword() async throws {
        let setup = try TestSetup(.entra)
        let application = try setup.application()
        let alice = try await signIn(.alice, to: application, setup)
        setup.browser.forgetCookies()
        let bob = try await signIn(.bob, to: application, setup)
        try await application.remove(alice)
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.account = bob
        _ = try await application.acquireTokenInteractively(parameters)
        #expect(try prompt(setup) == nil)
        parameters.account = alice
        setup.browser.person = .alice
        _ = try await application.acquireTokenInteractively(parameters)
        #expect(try prompt(setup) == "login")
    }

    @Test func leavesThePromptOfTheProgramAlone() async throws {
        let setup = try TestSetup()
        let application = try setup.application()
        try await application.remove(try await signIn(.alice, to: application, setup))
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.prompt = .consent
        _ = try await application.acquireTokenInteractively(parameters)
        #expect(try prompt(setup) == "consent")
    }

    @Test func asksAgainWhenAnotherProgramOfTheGroupSignedOut() async throws {
        let clients = [
            TestIdentityProvider.Client(id: "test-client"), TestIdentityProvider.Client(id: "second-client"),
        ]
        let setup = try TestSetup(clients: clients)
        let group = try CacheGroup("com.example.suite")
        let one = try setup.application { $0.cacheGroup = group }
        let other = try setup.application {
            $0.cacheGroup = group
            $0.clientID = "second-client"
        }
        let alice = try await signIn(.alice, to: one, setup)
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
        _ = try await signIn(.alice, to: one, setup)
        #expect(try prompt(setup) == "login")
    }

    @Test func signsInAndOutWhereItCannotBeRemembered() async throws {
        let cache = UnreliableCache()
        let setup = try TestSetup(cache: cache)
        cache.refusedWrites = [.application]
        let (application, first) = try await setup.signedIn()
        #expect(try await application.currentAccount().current == first.account)
        try await application.remove(first.account)
        #expect(try await application.allAccounts().isEmpty)
    }
}
