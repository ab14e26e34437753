// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

/// Signing out here, and at the provider.
@Suite(.timeLimit(.minutes(1)))
struct SignOutScenarioTests {
    private func everything(returningTo target: RedirectURI? = nil) -> SignOutParameters {
        var parameters = SignOutParameters()
        parameters.revokesTokens = true
        parameters.endsBrowserSession = true
        parameters.postLogoutRedirectURI = target
        return parameters
    }

    @Test func removesTheAccountAndNothingElseUnlessAsked() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.provider.forgetRequests()
        let result = try await application.signOut(first.account)
        #expect(result.wasSignedIn)
        #expect(result.revocation.word == "notRequested" && result.browserSession.word == "notRequested")
        #expect(try await application.allAccounts().isEmpty)
        #expect(setup.provider.requests.isEmpty)
        #expect(try await !application.signOut(first.account).wasSignedIn)
    }

    /// As Login.gov requires.
    @Test func tellsTheSignOutPageTheClientAloneWhereThatIsWanted() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        var parameters = try everything(returningTo: .loopback(path: "/signed-out"))
        parameters.sendsIDTokenHint = false
        #expect(try await application.signOut(first.account, parameters: parameters).browserSession.word == "succeeded")
        let sent = try #require(setup.provider.requests.last { $0.endpoint == .endSession })
        #expect(sent["id_token_hint"] == nil && sent["client_id"] == "test-client")
    }

    @Test(arguments: [false, true])
    func revokesTheTokenAndEndsTheSession(onLoopback: Bool) async throws {
        let setup = try TestSetup(listensOnLoopback: onLoopback)
        let (application, first) = try await setup.signedIn()
        let target = try RedirectURI.loopback(path: "/signed-out")
        let result = try await application.signOut(first.account, parameters: everything(returningTo: target))
        #expect(result.wasSignedIn && result.revocation.word == "succeeded")
        #expect(result.browserSession.word == "succeeded")
        let refreshToken = try #require(
            setup.provider.requests.first { $0.endpoint == .revocation }?["token"]
        )
        #expect(setup.provider.requests.last { $0.endpoint == .revocation }?["client_id"] == "test-client")
        let sent = try #require(setup.provider.requests.last { $0.endpoint == .endSession })
        #expect(sent["id_token_hint"] == first.idToken && sent["client_id"] == "test-client")
        #expect(sent["post_logout_redirect_uri"]?.hasSuffix("/signed-out") == true)
        #expect((sent["state"] ?? "").utf8.count >= 40)
        #expect(sent["logout_hint"] == nil)

        // The provider no longer takes the token, nor does the browser know the person.
        let form = TokenRequestMessage.refreshToken(clientID: "test-client", refreshToken: refreshToken)
        let request = HTTPRequest(
            method: .post,
            scheme: "https",
            authority: "login.example.test",
            path: "/token",
            headerFields: [.contentType: "application/x-www-form-urlencoded"]
        )
        let body = Array(FormURLEncoded.encode(form).utf8)
        let (_, answer) = try await setup.provider.transport.send(request, body: body)
        #expect(try JSONObject(parsing: answer).string("error") == "invalid_grant")
        setup.browser.behaviour = .abandon
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.timeout = .milliseconds(200)
        try await expectError(.interactionTimedOut) { try await application.acquireTokenInteractively(parameters) }
        #expect(try await setup.browser.finalPage().body.contains("password"))
    }

    @Test func removesHereBeforeAnythingIsSent() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        let gate = TestGate()
        setup.provider.failNext(.revocation, with: .held(by: gate))
        let task = Task { try await application.signOut(first.account, parameters: everything()) }
        try await setup.provider.waitForRequest(.revocation)
        #expect(try await application.allAccounts().isEmpty)
        gate.open()
        #expect(try await task.value.revocation.word == "succeeded")
    }

    @Test func reportsEachPartThatFails() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.provider.failNext(.revocation, with: .serverError(status: 503, retryAfter: .seconds(7)))
        let result = try await application.signOut(first.account, parameters: everything())
        guard case .failed(let error) = result.revocation else {
            Issue.record("\(result.revocation)")
            return
        }
        #expect(error.code == .serverUnavailable && error.retryAfter == .seconds(7))
        // The failed revocation does not prevent the end of the session.
        #expect(result.browserSession.word == "unconfirmed")
        try await setup.provider.waitForRequest(.endSession)
        #expect(try await application.allAccounts().isEmpty)
    }

    @Test func signsOutHereWhenTheProviderCannotBeReached() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.provider.failAlways(.revocation, with: .drop)
        let result = try await application.signOut(first.account, parameters: everything())
        guard case .failed(let error) = result.revocation else {
            Issue.record("\(result.revocation)")
            return
        }
        #expect(.network ~= error.code)
        #expect(try await application.allAccounts().isEmpty)
    }

    @Test func saysWhenNoBrowserCouldBeOpened() async throws {
        let setup = try TestSetup()
        let (_, first) = try await setup.signedIn()
        let headless = try setup.application { $0.browser = NoBrowser() }
        let result = try await headless.signOut(first.account, parameters: everything())
        guard case .failed(let error) = result.browserSession else {
            Issue.record("\(result.browserSession)")
            return
        }
        #expect(error.code == .browserUnavailable && result.revocation.word == "succeeded")

        // Who shows the address does without.
        let (_, second) = try await setup.signedIn()
        var parameters = everything()
        let shown = Shared<[URL]>([])
        parameters.onSignOutURL = { url in shown.withLock { $0.append(url) } }
        let other = try await headless.signOut(second.account, parameters: parameters)
        #expect(other.browserSession.word == "unconfirmed")
        #expect(shown.value.count == 1)
    }

    /// A forged return: the right one may come, but nothing waits for it any more.
    @Test(arguments: ["wrong", nil]) func aReturnWithoutTheStateConfirmsNothingAndEndsTheWait(state: String?)
        async throws
    {
        let setup = try TestSetup(listensOnLoopback: true)
        let (application, first) = try await setup.signedIn()
        setup.browser.redirectFaults = [.forgedFirst("state", value: state)]
        let target = try RedirectURI.loopback(path: "/signed-out")
        let result = try await application.signOut(first.account, parameters: everything(returningTo: target))
        #expect(result.browserSession.word == "unconfirmed")
    }

    @Test func letsNoOtherRequestEndTheWait() async throws {
        let setup = try TestSetup(listensOnLoopback: true)
        let (application, first) = try await setup.signedIn()
        setup.browser.redirectFaults = [.strayRequest()]
        let target = try RedirectURI.loopback(path: "/signed-out")
        let result = try await application.signOut(first.account, parameters: everything(returningTo: target))
        #expect(result.browserSession.word == "succeeded")
        // The browser reads its last page while the result is there already.
        #expect(await happens { setup.browser.pages.last?.body.contains("Signed out") == true })
    }

    @Test func doesNotWaitForeverForABrowserThatStaysAway() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.browser.followsRedirects = false
        var parameters = everything(returningTo: try .loopback(path: "/signed-out"))
        parameters.timeout = .milliseconds(100)
        let result = try await application.signOut(first.account, parameters: parameters)
        #expect(result.browserSession.word == "unconfirmed")
    }

    @Test func givesEntraALogoutHintAndNoToken() async throws {
        let setup = try TestSetup(.entra)
        let (application, first) = try await setup.signedIn()
        var parameters = everything()
        parameters.logoutHint = "hint-of-alice"
        parameters.extraQueryItems = ["x": "y&z"]
        let result = try await application.signOut(first.account, parameters: parameters)
        #expect(result.revocation.word == "unavailable" && result.browserSession.word == "unconfirmed")
        let sent = try await setup.provider.waitForRequest(.endSession)
        #expect(sent["logout_hint"] == "hint-of-alice" && sent["id_token_hint"] == nil && sent["x"] == "y&z")
        #expect(sent["post_logout_redirect_uri"] == nil && sent["state"] == nil)
    }

    /// Entra's optional claim names the person to its sign-out page, unless the program does not want that.
    @Test(arguments: [true, false])
    func givesEntraTheHintOfTheToken(_ sendsIDTokenHint: Bool) async throws {
        let setup = try TestSetup(.entra)
        setup.provider.tamperNextIDToken(with: .claim("login_hint", "O.hint"))
        let (application, first) = try await setup.signedIn()
        var parameters = everything()
        parameters.sendsIDTokenHint = sendsIDTokenHint
        _ = try await application.signOut(first.account, parameters: parameters)
        let sent = try await setup.provider.waitForRequest(.endSession)
        #expect(sent["logout_hint"] == (sendsIDTokenHint ? "O.hint" : nil) && sent["id_token_hint"] == nil)
    }

    @Test(arguments: ["id_token_hint", "state", "post_logout_redirect_uri", ""])
    func refusesReservedItemsBeforeAnythingIsRemoved(_ name: String) async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        var parameters = everything()
        parameters.extraQueryItems = [name: "mine"]
        try await expectError(.invalidArgument) { try await application.signOut(first.account, parameters: parameters) }
        #expect(try await application.allAccounts().count == 1)
    }

    @Test func asksTheProviderForNothingWhenTheCacheCannotBeWritten() async throws {
        let cache = UnreliableCache()
        let setup = try TestSetup(cache: cache)
        let (application, first) = try await setup.signedIn()
        setup.provider.forgetRequests()
        cache.refusedWrites = [.account]
        try await expectError(.cache) { try await application.signOut(first.account, parameters: everything()) }
        #expect(setup.provider.count(of: .revocation) + setup.provider.count(of: .endSession) == 0)
    }

    /// A provider may end all of a person's sign-ins with one token.
    @Test func revokesNothingWhereSomebodySignedInAnewDuringARefresh() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        let (task, gate) = try await setup.heldRefresh(by: application, for: first.account)
        let second = try await application.acquireTokenInteractively(scopes: ["api.read"])
        gate.open()
        #expect(try await task.value.account == second.account)
        #expect(setup.provider.count(of: .revocation) == 0)
    }

    @Test func givesUpOnABrowserThatNeverOpens() async throws {
        let setup = try TestSetup()
        let browser = StuckBrowser()
        defer { browser.letGo() }
        let (_, first) = try await setup.signedIn()
        let application = try setup.application { $0.browser = browser }
        var parameters = SignOutParameters()
        parameters.endsBrowserSession = true
        parameters.timeout = .milliseconds(100)
        let result = try await application.signOut(first.account, parameters: parameters)
        #expect(result.browserSession.word == "unconfirmed")
    }

    @Test func revokesTheTokenThatARefreshHasJustGot() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3600))
        _ = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        let before = try #require(
            setup.provider.requests.last { $0["grant_type"] == "refresh_token" }?["refresh_token"]
        )
        let result = try await application.signOut(first.account, parameters: everything())
        #expect(result.revocation.word == "succeeded")
        let revoked = setup.provider.requests.last { $0.endpoint == .revocation }?["token"]
        #expect(revoked != nil && revoked != before)
    }
}

@Suite struct SignOutOutcomeTests {
    @Test func equalsTheSameCaseAndShowsItsName() {
        let (one, other) = (AuthenticationError(.network, "one"), AuthenticationError(.network, "other"))
        let outcomes: [SignOutResult.Outcome] = [
            .notRequested, .succeeded, .notNeeded, .unavailable, .unconfirmed, .failed(one),
            .failed(AuthenticationError(.throttled, "one")),
        ]
        for (index, outcome) in outcomes.enumerated() {
            #expect(outcomes.filter { $0 == outcome }.count == 1 && outcomes.firstIndex(of: outcome) == index)
        }
        #expect(SignOutResult.Outcome.failed(one) == .failed(other))
        #expect(
            "\(SignOutResult.Outcome.notNeeded)" == "notNeeded" && "\(outcomes[5])".hasPrefix("failed(one [network;")
        )
    }
}

extension SignOutResult.Outcome {
    /// The case without its value.
    var word: String { String("\(self)".prefix { $0 != "(" }) }
}

private struct NoBrowser: BrowserLauncher {
    func open(_ url: URL) async throws {
        throw AuthenticationError(.browserUnavailable, "There is none.")
    }
}
