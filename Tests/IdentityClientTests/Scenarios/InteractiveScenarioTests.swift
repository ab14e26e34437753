// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import LoopbackHTTP
import Synchronization
import Testing

/// The person's actions in the browser, and their results in the program.
@Suite(.timeLimit(.minutes(1)))
struct InteractiveScenarioTests {
    @Test(arguments: [TestIdentityProvider.Profile.openIDConnect, .entra, .externalID, .b2c, .adfs])
    func tellsThatNobodyIsSignedInWithoutAskingAnybody(_ profile: TestIdentityProvider.Profile) async throws {
        let setup = try TestSetup(profile)
        let application = try setup.application()
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.prompt = .none
        try await expectError(.loginRequired) { try await application.acquireTokenInteractively(parameters) }
        #expect(try await setup.storedCredentials(of: application).isEmpty)
        // Once there is a session in the browser, nobody is asked either, and the sign-in succeeds.
        _ = try await application.acquireTokenInteractively(scopes: ["api.read"])
        let pages = setup.browser.pages.count
        let result = try await application.acquireTokenInteractively(parameters)
        #expect(result.source == .identityProvider)
        #expect(setup.browser.pages.dropFirst(pages).allSatisfy { !$0.body.contains("password") })
    }

    @Test(arguments: [TestIdentityProvider.Profile.openIDConnect, .entra])
    func tellsThatThePersonDoesNotAgree(_ profile: TestIdentityProvider.Profile) async throws {
        let setup = try TestSetup(profile) { $0.consentScopes = ["api.read"] }
        setup.browser.behaviour = .deny
        let application = try setup.application()
        let error = try await expectError(.accessDenied) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(error.serverError?.error == "access_denied")
        #expect(AuthenticationError.Code.userCancelled ~= error.code)
        #expect(setup.provider.count(of: .token) == 0)
        #expect(try await setup.storedCredentials(of: application).isEmpty)
        #expect(try await setup.browser.finalPage().status == 400)
    }

    @Test(arguments: [TestIdentityProvider.Profile.openIDConnect, .entra, .b2c])
    func tellsThatThePersonCancels(_ profile: TestIdentityProvider.Profile) async throws {
        let setup = try TestSetup(profile)
        setup.browser.behaviour = .cancel
        let application = try setup.application()
        let error = await #expect(throws: AuthenticationError.self) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(try AuthenticationError.Code.userCancelled ~= #require(error).code, "\(String(describing: error))")
        #expect(try await setup.storedCredentials(of: application).isEmpty)
    }

    @Test func tellsAnAdministratorsConsentFromThePersons() async throws {
        let setup = try TestSetup(.entra) { $0.adminConsentScopes = ["directory.all"] }
        let application = try setup.application()
        let error = try await expectError(.adminConsentRequired) {
            try await application.acquireTokenInteractively(scopes: ["directory.all"])
        }
        #expect(error.message.contains("administrator"))
    }

    @Test func givesUpOnSomebodyWhoWentAway() async throws {
        let setup = try TestSetup(listensOnLoopback: true)
        setup.browser.behaviour = .abandon
        let application = try setup.application()
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.timeout = .milliseconds(300)
        let begin = ContinuousClock.now
        try await expectError(.interactionTimedOut) { try await application.acquireTokenInteractively(parameters) }
        #expect(ContinuousClock.now - begin < .seconds(120), "It waited longer than the time-out of 0.3 s.")
        let port = try #require(setup.provider.redirectPort)
        #expect(throws: RawConnection.Failure.self) { try RawConnection(port: port) }
        setup.browser.behaviour = .approve
        #expect(try await application.acquireTokenInteractively(scopes: ["api.read"]).source == .identityProvider)
    }

    @Test func freesThePortWhenTheTaskIsCancelled() async throws {
        let setup = try TestSetup(listensOnLoopback: true)
        setup.browser.behaviour = .abandon
        let application = try setup.application()
        var port: UInt16 = 0
        var fastest = Duration.seconds(60)
        // On a machine that is busy with other tests, a single measurement means little.
        for attempt in 1...10 where fastest >= .milliseconds(100) {
            let task = Task { try await application.acquireTokenInteractively(scopes: ["api.read"]) }
            try await setup.provider.waitForRequest(.authorization, count: attempt)
            port = try #require(setup.provider.redirectPort)
            _ = try RawConnection(port: port)

            let begin = ContinuousClock.now
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            fastest = min(fastest, ContinuousClock.now - begin)
            #expect(throws: RawConnection.Failure.self) { try RawConnection(port: port) }
        }
        #expect(fastest < .milliseconds(100))

        setup.browser.behaviour = .approve
        let uri = try RedirectURI.loopback(ports: port...port)
        let again = try setup.application { $0.redirectURI = uri }
        #expect(try await again.acquireTokenInteractively(scopes: ["api.read"]).source == .identityProvider)
        #expect(try await application.acquireTokenInteractively(scopes: ["api.read"]).source == .identityProvider)
    }

    @Test func letsANewSignInTakeTheOldOnesPlace() async throws {
        let setup = try TestSetup(listensOnLoopback: true)
        setup.browser.behaviour = .abandon
        let application = try setup.application()
        let first = Task { try await application.acquireTokenInteractively(scopes: ["api.read"]) }
        try await setup.provider.waitForRequest(.authorization)
        let port = try #require(setup.provider.redirectPort)
        setup.browser.behaviour = .approve
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.whenPending = .supersede
        let second = try await application.acquireTokenInteractively(parameters)
        #expect(second.source == .identityProvider)
        try await expectError(.interactionSuperseded) { try await first.value }
        #expect(throws: RawConnection.Failure.self) { try RawConnection(port: port) }
    }

    @Test func refusesASecondSignInOnDemand() async throws {
        let setup = try TestSetup()
        let gate = TestGate()
        setup.provider.failNext(.token, with: .held(by: gate))
        let application = try setup.application()
        let first = Task { try await application.acquireTokenInteractively(scopes: ["api.read"]) }
        try await setup.provider.waitForRequest(.token)
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.whenPending = .fail
        try await expectError(.interactionInProgress) { try await application.acquireTokenInteractively(parameters) }
        #expect(setup.browser.openedURLs.count == 1)
        gate.open()
        #expect(try await first.value.source == .identityProvider)
    }

    @Test func letsASecondSignInWaitForTheFirst() async throws {
        let setup = try TestSetup()
        let gate = TestGate()
        setup.provider.failNext(.token, with: .held(by: gate))
        let application = try setup.application()
        let first = Task { try await application.acquireTokenInteractively(scopes: ["api.read"]) }
        try await setup.provider.waitForRequest(.token)
        let others = (0..<3).map { _ in Task { try await application.acquireTokenInteractively(scopes: ["api.read"]) } }
        // A waiting sign-in can be canceled without side effects.
        others[0].cancel()
        await #expect(throws: CancellationError.self) { try await others[0].value }
        #expect(setup.browser.openedURLs.count == 1)
        gate.open()
        #expect(try await first.value.source == .identityProvider)
        for other in others.dropFirst() { #expect(try await other.value.source == .identityProvider) }
        #expect(setup.browser.openedURLs.count == 3)
    }

    struct NoBrowser: BrowserLauncher {
        struct Foreign: Error {}
        var isForeign = false

        func open(_ url: URL) async throws {
            if isForeign { throw Foreign() }
            throw AuthenticationError(.browserUnavailable, "There is none.")
        }
    }

    @Test func givesUpOnABrowserThatNeverOpens() async throws {
        let setup = try TestSetup()
        let browser = StuckBrowser()
        defer { browser.letGo() }
        let application = try setup.application { $0.browser = browser }
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.timeout = .milliseconds(100)
        // The second sign-in shows that the first has ended.
        for _ in 0..<2 {
            try await expectError(.interactionTimedOut) { try await application.acquireTokenInteractively(parameters) }
        }
    }

    @Test(arguments: [false, true])
    func tellsThatThereIsNoBrowser(_ isForeign: Bool) async throws {
        let setup = try TestSetup(listensOnLoopback: true)
        let application = try setup.application { $0.browser = NoBrowser(isForeign: isForeign) }
        try await expectError(.browserUnavailable) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(try await setup.storedCredentials(of: application).isEmpty)
    }

    @Test(arguments: [false, true])
    func goesOnWithoutABrowserWhereTheProgramShowsTheAddress(_ isForeign: Bool) async throws {
        let setup = try TestSetup(listensOnLoopback: true)
        let application = try setup.application { $0.browser = NoBrowser(isForeign: isForeign) }
        var parameters = InteractiveParameters(scopes: ["api.read"])
        let browser = setup.browser
        parameters.onAuthorizationURL = { url in Task { try await browser.open(url) } }
        let result = try await application.acquireTokenInteractively(parameters)
        #expect(result.source == .identityProvider)
    }

    @Test(arguments: [ResponseMode.query, .formPost], [TestIdentityProvider.Profile.openIDConnect, .entra])
    func receivesTheAnswerAsAskedFor(_ mode: ResponseMode, _ profile: TestIdentityProvider.Profile) async throws {
        let setup = try TestSetup(profile, listensOnLoopback: true)
        let application = try setup.application()
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.responseMode = mode
        let result = try await application.acquireTokenInteractively(parameters)
        #expect(try await application.allAccounts() == [result.account])
        let asked = try #require(setup.provider.requests.first { $0.endpoint == .authorization })
        #expect(asked["response_mode"] == mode.rawValue)
        let page = try await setup.browser.finalPage()
        #expect(page.status == 200 && page.body.contains("Signed in"))
    }

    /// GitLab publishes form posts, but its consent page forgets the requested mode.
    @Test(arguments: [false, true])
    func takesAnAnswerInTheQueryWhereAFormWasAskedFor(_ listensOnLoopback: Bool) async throws {
        let setup = try TestSetup(listensOnLoopback: listensOnLoopback) { $0.forgetsResponseMode = true }
        // What comes this way is looked at as closely as ever.
        setup.browser.redirectFaults = [.forgedFirst("state", value: "guessed")]
        let (application, result) = try await setup.signedIn()
        #expect(try await application.allAccounts() == [result.account])
        let asked = try #require(setup.provider.requests.first { $0.endpoint == .authorization })
        #expect(asked["response_mode"] == "form_post")
        #expect(try await setup.browser.redirectURL().query()?.contains("code=") == true)
        _ = try await setup.browser.finalPage()
        #expect(setup.browser.pages.suffix(2).map(\.status) == [400, 200])
    }

    /// WSO2 Identity Server posts the code, but not errors.
    @Test(arguments: [false, true])
    func takesARefusalInTheQueryWhereAFormWasAskedFor(_ listensOnLoopback: Bool) async throws {
        let setup = try TestSetup(listensOnLoopback: listensOnLoopback) { $0.forgetsResponseMode = true }
        setup.browser.behaviour = .cancel
        let application = try setup.application()
        let error = try await expectError(.accessDenied) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(error.serverError?.error == "access_denied")
        #expect(setup.provider.count(of: .token) == 0)
    }

    @Test func asksForNoFormPostWhereTheReceiverTakesNone() async throws {
        let setup = try TestSetup(.entra)
        let application = try setup.application { $0.redirectReceiver = QueryReceiver(receiver: setup.receiver) }
        _ = try await application.acquireTokenInteractively(scopes: ["api.read"])
        let asked = try #require(setup.provider.requests.first { $0.endpoint == .authorization })
        #expect(asked["response_mode"] == "query")
    }

    @Test func namesThePortThatIsTaken() async throws {
        let squatter = try LoopbackServer.start(hosts: [.ipv4, .ipv6]) { _ in
            LoopbackResponse(status: 200, text: "mine")
        }
        defer { squatter.close() }
        let setup = try TestSetup(listensOnLoopback: true)
        let uri = try RedirectURI.loopback(ports: squatter.port...squatter.port)
        let application = try setup.application { $0.redirectURI = uri }
        let error = try await expectError(.redirectUnavailable) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(error.message.contains("\(squatter.port)"))
        #expect(setup.browser.openedURLs.isEmpty)
    }

    @Test func tellsThePersonWhenTheExchangeFails() async throws {
        let setup = try TestSetup(listensOnLoopback: true)
        setup.provider.failNext(.token, with: .refusal("invalid_client", status: 401))
        let application = try setup.application()
        let error = try await expectError(.clientNotRegistered) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        let page = try await setup.browser.finalPage()
        #expect(page.body.contains("Not signed in"))
        #expect(page.body.contains(error.message.prefix(20)))
        #expect(!page.body.contains("The sign-in is complete"))
    }

    @Test func refusesSomebodyElse() async throws {
        let setup = try TestSetup()
        let (application, alice) = try await setup.signedIn()
        let before = try await setup.storedCredentials(of: application)
        setup.browser.person = .bob
        setup.browser.forgetCookies()
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.account = alice.account
        let error = try await expectError(.accountMismatch) {
            try await application.acquireTokenInteractively(parameters)
        }
        #expect(error.message.hasPrefix("'bob@example.test' signed in, but 'alice@example.test' was requested."))
        #expect(try await setup.storedCredentials(of: application) == before)
        #expect(try await application.allAccounts() == [alice.account])
        #expect(try await setup.browser.finalPage().status == 400)
    }

    /// The message ends up on terminals and in logs.
    @Test func namesSomebodyElseInOneLineThatNoTerminalObeys() async throws {
        let setup = try TestSetup()
        let (application, alice) = try await setup.signedIn()
        let mallory = TestIdentityProvider.Person(
            username: "mallory\u{1B}[2J\n@example.test",
            password: "tr0ub4dor",
            name: "Mallory",
            subject: "subject-mallory",
            objectID: "dddddddd-0000-4000-8000-000000000004"
        )
        setup.provider.add(mallory)
        setup.browser.person = mallory
        setup.browser.forgetCookies()
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.account = alice.account
        let error = try await expectError(.accountMismatch) {
            try await application.acquireTokenInteractively(parameters)
        }
        #expect(error.message.contains("mallory[2J @example.test"), "\(error.message)")
        #expect(error.message.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
    }
}

extension TestIdentityProvider {
    /// The port in the redirect URI of the last authorization request.
    var redirectPort: UInt16? {
        requests.last { $0.endpoint == .authorization }?["redirect_uri"]
            .flatMap { URL(string: $0)?.port }.flatMap { UInt16(exactly: $0) }
    }
}

/// A receiver that cannot take form posts, like the one for custom schemes.
private struct QueryReceiver: RedirectReceiver {
    let receiver: InMemoryRedirectReceiver

    var responseModes: Set<ResponseMode> { [.query] }

    func start(for redirectURI: RedirectURI, responseMode: ResponseMode) async throws -> any RedirectListener {
        try await receiver.start(for: redirectURI, responseMode: responseMode)
    }
}
