// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTesting
import LoopbackHTTP
import Synchronization
import Testing

/// The person's actions in the browser, and their results in the program.
@Suite(.timeLimit(.minutes(1)))
struct InteractiveScenarioTests {
    @Test(arguments: [TestIdentityProvider.Profile.openIDConnect, .entra, .externalID, .b2c, .adfs])
    func tellsThatNobodyIsSignedInWithoutAskingAnybody(_ profile: TestIdentityProvider.Profile) async throws {
        let stage = try Stage(profile)
        let application = try stage.application()
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.prompt = .none
        try await expectError(.loginRequired) { try await application.acquireTokenInteractively(parameters) }
        #expect(try await stage.storedCredentials(of: application).isEmpty)
        // With a session in the browser, the person is not asked either, and the sign-in succeeds.
        _ = try await application.acquireTokenInteractively(scopes: ["api.read"])
        let pages = stage.browser.pages.count
        let result = try await application.acquireTokenInteractively(parameters)
        #expect(result.source == .identityProvider)
        #expect(stage.browser.pages.dropFirst(pages).allSatisfy { !$0.body.contains("password") })
    }

    @Test(arguments: [TestIdentityProvider.Profile.openIDConnect, .entra])
    func tellsThatThePersonDoesNotAgree(_ profile: TestIdentityProvider.Profile) async throws {
        let stage = try Stage(profile) { $0.consentScopes = ["api.read"] }
        stage.browser.behaviour = .deny
        let application = try stage.application()
        let error = try await expectError(.accessDenied) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(error.serverError?.error == "access_denied")
        #expect(AuthenticationError.userCancelled ~= error.code)
        #expect(stage.provider.count(of: .token) == 0)
        #expect(try await stage.storedCredentials(of: application).isEmpty)
        #expect(try await stage.browser.finalPage().status == 400)
    }

    @Test(arguments: [TestIdentityProvider.Profile.openIDConnect, .entra, .b2c])
    func tellsThatThePersonCancels(_ profile: TestIdentityProvider.Profile) async throws {
        let stage = try Stage(profile)
        stage.browser.behaviour = .cancel
        let application = try stage.application()
        let error = await #expect(throws: AuthenticationError.self) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(try AuthenticationError.userCancelled ~= #require(error).code, "\(String(describing: error))")
        #expect(try await stage.storedCredentials(of: application).isEmpty)
    }

    @Test func tellsAnAdministratorsConsentFromThePersons() async throws {
        let stage = try Stage(.entra) { $0.adminConsentScopes = ["directory.all"] }
        let application = try stage.application()
        let error = try await expectError(.adminConsentRequired) {
            try await application.acquireTokenInteractively(scopes: ["directory.all"])
        }
        #expect(error.message.contains("administrator"))
    }

    @Test func givesUpOnSomebodyWhoWentAway() async throws {
        let stage = try Stage(listensOnLoopback: true)
        stage.browser.behaviour = .abandon
        let application = try stage.application()
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.timeout = .milliseconds(300)
        let begin = ContinuousClock.now
        try await expectError(.interactionTimedOut) { try await application.acquireTokenInteractively(parameters) }
        #expect(ContinuousClock.now - begin < .seconds(5))
        let port = try #require(stage.provider.redirectPort)
        #expect(throws: RawConnection.Failure.self) { try RawConnection(port: port) }
        stage.browser.behaviour = .approve
        #expect(try await application.acquireTokenInteractively(scopes: ["api.read"]).source == .identityProvider)
    }

    @Test func freesThePortWhenTheTaskIsCancelled() async throws {
        let stage = try Stage(listensOnLoopback: true)
        stage.browser.behaviour = .abandon
        let application = try stage.application()
        var port: UInt16 = 0
        var fastest = Duration.seconds(60)
        // On a machine that is busy with other tests, a single measurement means little.
        for attempt in 1...10 where fastest >= .milliseconds(100) {
            let task = Task { try await application.acquireTokenInteractively(scopes: ["api.read"]) }
            try await stage.provider.waitForRequest(.authorization, count: attempt)
            port = try #require(stage.provider.redirectPort)
            _ = try RawConnection(port: port)

            let begin = ContinuousClock.now
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            fastest = min(fastest, ContinuousClock.now - begin)
            #expect(throws: RawConnection.Failure.self) { try RawConnection(port: port) }
        }
        #expect(fastest < .milliseconds(100))

        stage.browser.behaviour = .approve
        let uri = try RedirectURI.loopback(ports: port...port)
        let again = try stage.application { $0.redirectURI = uri }
        #expect(try await again.acquireTokenInteractively(scopes: ["api.read"]).source == .identityProvider)
        #expect(try await application.acquireTokenInteractively(scopes: ["api.read"]).source == .identityProvider)
    }

    @Test func letsANewSignInTakeTheOldOnesPlace() async throws {
        let stage = try Stage(listensOnLoopback: true)
        stage.browser.behaviour = .abandon
        let application = try stage.application()
        let first = Task { try await application.acquireTokenInteractively(scopes: ["api.read"]) }
        try await stage.provider.waitForRequest(.authorization)
        let port = try #require(stage.provider.redirectPort)
        stage.browser.behaviour = .approve
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.whenPending = .supersede
        let second = try await application.acquireTokenInteractively(parameters)
        #expect(second.source == .identityProvider)
        try await expectError(.interactionSuperseded) { try await first.value }
        #expect(throws: RawConnection.Failure.self) { try RawConnection(port: port) }
    }

    @Test func refusesASecondSignInOnDemand() async throws {
        let stage = try Stage()
        let gate = Gate()
        stage.provider.failNext(.token, with: .held(by: gate))
        let application = try stage.application()
        let first = Task { try await application.acquireTokenInteractively(scopes: ["api.read"]) }
        try await stage.provider.waitForRequest(.token)
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.whenPending = .fail
        try await expectError(.interactionInProgress) { try await application.acquireTokenInteractively(parameters) }
        #expect(stage.browser.openedURLs.count == 1)
        gate.open()
        #expect(try await first.value.source == .identityProvider)
    }

    @Test func letsASecondSignInWaitForTheFirst() async throws {
        let stage = try Stage()
        let gate = Gate()
        stage.provider.failNext(.token, with: .held(by: gate))
        let application = try stage.application()
        let first = Task { try await application.acquireTokenInteractively(scopes: ["api.read"]) }
        try await stage.provider.waitForRequest(.token)
        let others = (0..<3).map { _ in Task { try await application.acquireTokenInteractively(scopes: ["api.read"]) } }
        // A waiting sign-in can be canceled without side effects.
        others[0].cancel()
        await #expect(throws: CancellationError.self) { try await others[0].value }
        #expect(stage.browser.openedURLs.count == 1)
        gate.open()
        #expect(try await first.value.source == .identityProvider)
        for other in others.dropFirst() { #expect(try await other.value.source == .identityProvider) }
        #expect(stage.browser.openedURLs.count == 3)
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
        let stage = try Stage()
        let browser = StuckBrowser()
        defer { browser.letGo() }
        let application = try stage.application { $0.browser = browser }
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.timeout = .milliseconds(100)
        // The second sign-in shows that the first has ended.
        for _ in 0..<2 {
            try await expectError(.interactionTimedOut) { try await application.acquireTokenInteractively(parameters) }
        }
    }

    @Test(arguments: [false, true])
    func tellsThatThereIsNoBrowser(_ isForeign: Bool) async throws {
        let stage = try Stage(listensOnLoopback: true)
        let application = try stage.application { $0.browser = NoBrowser(isForeign: isForeign) }
        try await expectError(.browserUnavailable) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(try await stage.storedCredentials(of: application).isEmpty)
    }

    @Test(arguments: [false, true])
    func goesOnWithoutABrowserWhereTheProgramShowsTheAddress(_ isForeign: Bool) async throws {
        let stage = try Stage(listensOnLoopback: true)
        let application = try stage.application { $0.browser = NoBrowser(isForeign: isForeign) }
        var parameters = InteractiveParameters(scopes: ["api.read"])
        let browser = stage.browser
        parameters.onAuthorizationURL = { url in Task { try await browser.open(url) } }
        let result = try await application.acquireTokenInteractively(parameters)
        #expect(result.source == .identityProvider)
    }

    @Test(arguments: [ResponseMode.query, .formPost], [TestIdentityProvider.Profile.openIDConnect, .entra])
    func receivesTheAnswerAsAskedFor(_ mode: ResponseMode, _ profile: TestIdentityProvider.Profile) async throws {
        let stage = try Stage(profile, listensOnLoopback: true)
        let application = try stage.application()
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.responseMode = mode
        let result = try await application.acquireTokenInteractively(parameters)
        #expect(try await application.allAccounts() == [result.account])
        let asked = try #require(stage.provider.requests.first { $0.endpoint == .authorization })
        #expect(asked["response_mode"] == mode.rawValue)
        let page = try await stage.browser.finalPage()
        #expect(page.status == 200 && page.body.contains("Signed in"))
    }

    /// GitLab publishes form posts, but its consent page forgets the requested mode.
    @Test(arguments: [false, true])
    func takesAnAnswerInTheQueryWhereAFormWasAskedFor(_ listensOnLoopback: Bool) async throws {
        let stage = try Stage(listensOnLoopback: listensOnLoopback) { $0.forgetsResponseMode = true }
        // Answers that arrive this way are checked as strictly.
        stage.browser.mischief = [.forgedFirst("state", value: "guessed")]
        let (application, result) = try await stage.signedIn()
        #expect(try await application.allAccounts() == [result.account])
        let asked = try #require(stage.provider.requests.first { $0.endpoint == .authorization })
        #expect(asked["response_mode"] == "form_post")
        #expect(try await stage.browser.redirectURL().query()?.contains("code=") == true)
        _ = try await stage.browser.finalPage()
        #expect(stage.browser.pages.suffix(2).map(\.status) == [400, 200])
    }

    /// WSO2 Identity Server posts the code, but not errors.
    @Test(arguments: [false, true])
    func takesARefusalInTheQueryWhereAFormWasAskedFor(_ listensOnLoopback: Bool) async throws {
        let stage = try Stage(listensOnLoopback: listensOnLoopback) { $0.forgetsResponseMode = true }
        stage.browser.behaviour = .cancel
        let application = try stage.application()
        let error = try await expectError(.accessDenied) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(error.serverError?.error == "access_denied")
        #expect(stage.provider.count(of: .token) == 0)
    }

    @Test func asksForNoFormPostWhereTheReceiverTakesNone() async throws {
        let stage = try Stage(.entra)
        let application = try stage.application { $0.redirectReceiver = QueryReceiver(receiver: stage.receiver) }
        _ = try await application.acquireTokenInteractively(scopes: ["api.read"])
        let asked = try #require(stage.provider.requests.first { $0.endpoint == .authorization })
        #expect(asked["response_mode"] == "query")
    }

    @Test func namesThePortThatIsTaken() async throws {
        let squatter = try LoopbackServer.start(hosts: [.ipv4, .ipv6]) { _ in
            LoopbackResponse(status: 200, text: "mine")
        }
        defer { squatter.close() }
        let stage = try Stage(listensOnLoopback: true)
        let uri = try RedirectURI.loopback(ports: squatter.port...squatter.port)
        let application = try stage.application { $0.redirectURI = uri }
        let error = try await expectError(.redirectUnavailable) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(error.message.contains("\(squatter.port)"))
        #expect(stage.browser.openedURLs.isEmpty)
    }

    @Test func tellsThePersonWhenTheExchangeFails() async throws {
        let stage = try Stage(listensOnLoopback: true)
        stage.provider.failNext(.token, with: .refusal("invalid_client", status: 401))
        let application = try stage.application()
        let error = try await expectError(.clientNotRegistered) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        let page = try await stage.browser.finalPage()
        #expect(page.body.contains("Not signed in"))
        #expect(page.body.contains(error.message.prefix(20)))
        #expect(!page.body.contains("The sign-in is complete"))
    }

    @Test func refusesSomebodyElse() async throws {
        let stage = try Stage()
        let (application, alice) = try await stage.signedIn()
        let before = try await stage.storedCredentials(of: application)
        stage.browser.person = .bob
        stage.browser.forgetCookies()
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.account = alice.account
        try await expectError(.accountMismatch) { try await application.acquireTokenInteractively(parameters) }
        #expect(try await stage.storedCredentials(of: application) == before)
        #expect(try await application.allAccounts() == [alice.account])
        #expect(try await stage.browser.finalPage().status == 400)
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
