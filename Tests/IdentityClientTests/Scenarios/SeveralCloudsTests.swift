// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityMSALCaches
import IdentityTestSupport
import IdentityTesting
import Testing

/// The accounts of several of Microsoft's clouds in one application object.
@Suite(.timeLimit(.minutes(1)))
struct SeveralCloudsTests {
    private let setup: TestSetup
    private let scopes: Set<Scope> = ["api.read"]
    private let ours = "login.microsoftonline.com"
    private let theirs = "login.microsoftonline.us"

    init() throws {
        setup = try TestSetup(.entra)
        setup.provider.add(.ofTheGovernment)
        setup.provider.add(.aliceElsewhere)
    }

    private func application(
        isInstanceAware: Bool = true,
        _ change: (inout ClientConfiguration) throws -> Void = { _ in }
    ) throws -> PublicClientApplication {
        let authority = try Authority.entra(.organizations)
        var configuration = try setup.application().configuration
        configuration.authority = authority
        configuration.entra.isInstanceAware = isInstanceAware
        try change(&configuration)
        return try PublicClientApplication(configuration)
    }

    private func signIn(
        _ person: TestIdentityProvider.Person,
        _ application: PublicClientApplication
    ) async throws -> Account {
        setup.browser.person = person
        setup.browser.forgetCookies()
        return try await application.acquireTokenInteractively(scopes: scopes).account
    }

    /// The hosts that `endpoint` was asked at.
    private func hosts(of endpoint: TestIdentityProvider.Endpoint) -> [String?] {
        setup.provider.requests.filter { $0.endpoint == endpoint }.map { URL(string: $0.url)?.host() }
    }

    @Test func keepsTheAccountsSideBySide() async throws {
        let app = try application()
        let alice = try await signIn(.alice, app)
        let grace = try await signIn(.ofTheGovernment, app)
        #expect(alice.environment == ours && grace.environment == theirs)
        #expect(hosts(of: .authorization) == [ours, ours] && hosts(of: .token) == [ours, theirs])
        #expect(try await app.allAccounts().map(\.id) == [alice.id, grace.id])
        #expect(try await app.account(withID: grace.id) == grace)
        #expect(try await app.accounts(withUsername: "Grace@agency.example") == [grace])
        #expect(try await app.account(matching: "grace@agency.example") == grace)
        #expect(try await app.account(withHomeAccountID: grace.homeAccountID) == grace)
        #expect(try await app.currentAccount() == CurrentAccount(current: grace, previous: alice))
        #expect(try await app.supportReport().contains(theirs))
    }

    @Test func refreshesEachAccountAtItsCloudAlsoAfterARestart() async throws {
        let first = try application()
        let alice = try await signIn(.alice, first)
        let grace = try await signIn(.ofTheGovernment, first)
        let app = try application()
        setup.provider.forgetRequests()
        #expect(try await app.acquireTokenSilently(scopes: scopes, account: grace).source == .cache)
        setup.clock.advance(by: .seconds(3600))
        let result = try await app.acquireTokenSilently(scopes: scopes, loginHint: "grace@agency.example")
        #expect(result.source == .identityProvider && result.account == grace)
        #expect(hosts(of: .token) == [theirs])
        _ = try await app.acquireTokenSilently(scopes: scopes, account: alice)
        #expect(hosts(of: .token) == [theirs, ours])
        // A tenant that the call names is one of the account's cloud.
        var parameters = SilentParameters(scopes: scopes, account: grace)
        parameters.authority = try .entra(.tenant("11111111-2222-4333-8444-555555555555"))
        parameters.forcesRefresh = true
        _ = try await app.acquireTokenSilently(parameters)
        #expect(hosts(of: .token) == [theirs, ours, theirs])
    }

    @Test func goesOnAtTheAccountsCloud() async throws {
        let app = try application()
        let grace = try await signIn(.ofTheGovernment, app)
        setup.provider.forgetRequests()
        #expect(try await app.userInfo(for: grace).subject == "subject-grace")
        // What an API demands is asked for there from the beginning.
        var parameters = InteractiveParameters(scopes: scopes, account: grace)
        parameters.claims = #"{"access_token":{"acrs":{"value":"c1"}}}"#
        #expect(try await app.acquireTokenInteractively(parameters).account == grace)
        #expect(hosts(of: .authorization) == [theirs] && hosts(of: .token) == [theirs])
        var signOut = SignOutParameters()
        signOut.endsBrowserSession = true
        signOut.revokesTokens = true
        #expect(try await app.signOut(grace, parameters: signOut).wasSignedIn)
        #expect(setup.browser.openedURLs.last?.host() == theirs)
        #expect(try await app.allAccounts().isEmpty)
    }

    @Test func takesTheAnswerOfAPreparedSignIn() async throws {
        let app = try application()
        setup.browser.person = .ofTheGovernment
        setup.browser.followsRedirects = false
        let request = try await app.prepareAuthorization(InteractiveParameters(scopes: scopes))
        try await setup.browser.open(request.url)
        let result = try await app.completeAuthorization(request, with: try await setup.browser.redirectURL())
        #expect(result.account.environment == theirs && hosts(of: .token) == [theirs])
    }

    @Test func finishesAPreparedSignInAfterARestart() async throws {
        let grace = try await signIn(.ofTheGovernment, try application())
        setup.browser.followsRedirects = false
        let parameters = InteractiveParameters(scopes: scopes, account: grace)
        let data = try await application().prepareAuthorization(parameters).serialized()
        let app = try application()
        let request = try await app.restoreAuthorization(data)
        #expect(request.url.host() == theirs)
        try await setup.browser.open(request.url)
        let result = try await app.completeAuthorization(request, with: try await setup.browser.redirectURL())
        #expect(result.account == grace && hosts(of: .token) == [theirs, theirs])
    }

    @Test func signsInAtACloudThatTheCallNames() async throws {
        let app = try application()
        var parameters = DeviceCodeParameters(scopes: scopes)
        parameters.authority = try .entra(.organizations, host: theirs)
        let task = Task { [provider = setup.provider, parameters] in
            try await app.acquireTokenWithDeviceCode(parameters) {
                provider.approveDevice(userCode: $0.userCode, as: .ofTheGovernment)
            }
        }
        try await setup.clock.waitForSleepers()
        setup.clock.advance(by: .seconds(5))
        let result = try await task.value
        #expect(result.account.environment == theirs && hosts(of: .deviceAuthorization) == [theirs])
        #expect(try await app.allAccounts() == [result.account])
        let unaware = try application(isInstanceAware: false)
        try await expectError(.invalidArgument) { try await unaware.acquireTokenWithDeviceCode(parameters) { _ in } }
    }

    @Test func findsNoAccountOfAnotherCloudUnlessSet() async throws {
        let grace = try await signIn(.ofTheGovernment, try application())
        let unaware = try application(isInstanceAware: false)
        #expect(try await unaware.allAccounts().isEmpty)
        try await expectError(.noTokensFound) {
            try await unaware.acquireTokenSilently(scopes: scopes, account: grace)
        }
        let there = try application(isInstanceAware: false) {
            $0.authority = try .entra(.organizations, host: theirs)
        }
        #expect(try await there.allAccounts() == [grace])
    }

    /// Identifiers are unique in a cloud only.
    @Test func tellsAnIdentifierInTwoCloudsApart() async throws {
        let app = try application()
        let changes = Shared<[AccountChange]>([])
        let stream = try await app.accountChanges()
        let watch = Task { for await change in stream { changes.withLock { $0.append(change) } } }
        defer { watch.cancel() }
        let alice = try await signIn(.alice, app)
        let other = try await signIn(.aliceElsewhere, app)
        #expect(alice.id == other.id && alice != other)
        try await wait { changes.withLock { $0.count } == 2 }
        #expect(try await app.allAccounts() == [other, alice])  // by username
        #expect(try await app.currentAccount() == CurrentAccount(current: other, previous: alice))
        try await app.setCurrentAccount(alice)
        #expect(try await app.currentAccount().current == alice)
        let token = try await app.acquireTokenSilently(scopes: scopes, account: alice).accessToken
        let theirs = try await app.acquireTokenSilently(scopes: scopes, account: other).accessToken
        #expect(setup.provider.introspect(accessToken: token)?.person == .alice)
        #expect(setup.provider.introspect(accessToken: theirs)?.person == .aliceElsewhere)
        try await app.remove(alice)
        #expect(try await app.allAccounts() == [other])
        #expect(try await app.acquireTokenSilently(scopes: scopes, account: other).accessToken == theirs)
    }

    @Test func keepsTheProgramsDataOfEach() async throws {
        let configuration = try application().configuration
        let store = try AccountStore([AccountType("work", configuration: configuration, scopes: scopes)])
        for person in [TestIdentityProvider.Person.alice, .aliceElsewhere] {
            setup.browser.person = person
            setup.browser.forgetCookies()
            try await store.acquireTokenInteractively(ofType: "work")
        }
        let accounts = try await store.accounts()
        #expect(accounts.map(\.account.environment) == [theirs, ours])
        try await store.setUserData("theirs", of: accounts[0])
        try await store.setUserData("ours", of: accounts[1])
        try await store.signOut(accounts[1])
        #expect(try await store.userData(String.self, of: accounts[0]) == "theirs")
        #expect(try await store.userData(String.self, of: accounts[1]) == nil)
        // An account of that cloud could be of either type.
        var there = configuration
        there.authority = try .entra(.organizations, host: theirs)
        there.entra.isInstanceAware = false
        let types = [
            AccountType("work", configuration: configuration, scopes: scopes),
            AccountType("agency", configuration: there, scopes: scopes),
        ]
        #expect(throws: AuthenticationError.self) { try AccountStore(types) }
    }

    @Test func sharesTheAccountsOfAllCloudsWithOtherLibraries() async throws {
        let directory = try TemporaryDirectory()
        func cache() throws -> SharedMSALCache {
            try SharedMSALCache(.file("\(directory.path)/msal.json"), clientID: "test-client", fallback: setup.cache)
        }
        let grace = try await signIn(.ofTheGovernment, try application { $0.cache = try cache() })
        let app = try application { $0.cache = try cache() }
        #expect(try await app.allAccounts().map(\.id) == [grace.id])
        setup.clock.advance(by: .seconds(3600))
        setup.provider.forgetRequests()
        _ = try await app.acquireTokenSilently(scopes: scopes, account: grace)
        #expect(hosts(of: .token) == [theirs])
        try await app.remove(grace)
        #expect(try await app.allAccounts().isEmpty)
    }
}
