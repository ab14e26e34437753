// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

/// Pushed authorization requests (RFC 9126): the provider gets the request itself, the browser a reference to it.
@Suite(.timeLimit(.minutes(1)))
struct PushedAuthorizationTests {
    static let plainItems: Set<String> = [
        "client_id", "response_type", "redirect_uri", "scope", "state", "nonce", "code_challenge",
        "code_challenge_method", "response_mode",
    ]

    private func names(_ items: [RecordedRequest.Item]) -> Set<String> { Set(items.map(\.name)) }

    private func last(_ endpoint: TestIdentityProvider.Endpoint, _ setup: TestSetup) throws -> RecordedRequest {
        try #require(setup.provider.requests.last { $0.endpoint == endpoint })
    }

    @Test func pushesWhereTheProviderRequiresIt() async throws {
        let setup = try TestSetup { $0.pushedAuthorizationRequests = .required }
        let application = try setup.application()
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.loginHint = "alice@example.test"
        parameters.claims = #"{"id_token":{"email":null}}"#
        parameters.extraQueryItems = ["audience": "https://api.example.test/?a=b&c"]
        let result = try await application.acquireTokenInteractively(parameters)
        #expect(result.source == .identityProvider && result.account.username == "alice@example.test")

        let pushed = try last(.pushedAuthorization, setup)
        #expect(pushed.method == "POST" && pushed.query.isEmpty)
        #expect(pushed.form.count == names(pushed.form).count)
        #expect(names(pushed.form) == Self.plainItems.union(["login_hint", "claims", "audience"]))
        #expect(pushed["client_id"] == "test-client" && pushed["audience"] == "https://api.example.test/?a=b&c")
        #expect(pushed.header("content-type") == "application/x-www-form-urlencoded")
        let visit = try last(.authorization, setup)
        #expect(names(visit.query) == ["client_id", "request_uri"])
        #expect(visit["client_id"] == "test-client")
        let redeemed = try last(.token, setup)
        #expect(redeemed["redirect_uri"] == pushed["redirect_uri"])
        let verifier = try #require(redeemed["code_verifier"])
        #expect(ProofKey.challenge(for: verifier) == pushed["code_challenge"])
        #expect(setup.browser.openedURLs.count == 1)
    }

    @Test(arguments: [
        (TestIdentityProvider.PushedAuthorizationRequests.unavailable, false, false), (.unavailable, true, false),
        (.offered, false, false), (.offered, true, true), (.required, false, true), (.required, true, true),
    ])
    func followsTheProviderAndTheConfiguration(
        _ provider: TestIdentityProvider.PushedAuthorizationRequests,
        wantsPushing: Bool,
        isPushed: Bool
    ) async throws {
        let setup = try TestSetup { $0.pushedAuthorizationRequests = provider }
        _ = try await setup.signedIn { configuration in
            if wantsPushing { configuration.compatibility.pushedAuthorizationRequests = .whenOffered }
        }
        #expect(setup.provider.count(of: .pushedAuthorization) == (isPushed ? 1 : 0))
        let visit = try last(.authorization, setup)
        #expect(names(visit.query) == (isPushed ? ["client_id", "request_uri"] : Self.plainItems))
    }

    /// Each sign-in pushes its own request, with new random values.
    @Test func pushesEachSignInAnew() async throws {
        let setup = try TestSetup { $0.pushedAuthorizationRequests = .required }
        let application = try setup.application()
        for _ in 0..<3 { _ = try await application.acquireTokenInteractively(scopes: ["api.read"]) }
        let pushed = setup.provider.requests.filter { $0.endpoint == .pushedAuthorization }
        for name in ["state", "nonce", "code_challenge"] {
            #expect(Set(pushed.compactMap { $0[name] }).count == 3, "\(name)")
        }
        let visits = setup.provider.requests.filter { $0.endpoint == .authorization }
        #expect(Set(visits.compactMap { $0["request_uri"] }).count == 3)
    }

    /// Some providers, such as glewlwyd, ignore the response mode of a pushed request.
    @Test(
        arguments: [(nil, "form_post"), (.query, "query"), (.formPost, "form_post")] as [(ResponseMode?, String)],
        [false, true]
    )
    func asksForTheAnswerAsInAPlainRequest(asked: (mode: ResponseMode?, sent: String), forgets: Bool) async throws {
        let setup = try TestSetup {
            $0.pushedAuthorizationRequests = .offered
            $0.forgetsResponseMode = forgets
        }
        var parameters = InteractiveParameters(scopes: ["api.read"])
        let plain = try await setup.application().acquireTokenInteractively(parameters)
        #expect(try last(.authorization, setup)["response_mode"] == "form_post")
        parameters.responseMode = asked.mode
        let pushing = try setup.application { $0.compatibility.pushedAuthorizationRequests = .whenOffered }
        let result = try await pushing.acquireTokenInteractively(parameters)
        #expect(try last(.pushedAuthorization, setup)["response_mode"] == asked.sent)
        #expect(result.account.id == plain.account.id)
    }

    @Test func keepsTheQueryOfTheEndpoint() async throws {
        let setup = try TestSetup { $0.pushedAuthorizationRequests = .required }
        setup.provider.failNext(
            .discovery,
            with: .changing("authorization_endpoint", to: #""https://login.example.test/authorize?p=a%2Bb""#)
        )
        _ = try await setup.signedIn()
        let url = try #require(setup.browser.openedURLs.last)
        #expect(url.absoluteString.hasPrefix("https://login.example.test/authorize?p=a%2Bb&client_id=test-client&"))
    }

    @Test func signsInByHandInTwoSteps() async throws {
        let setup = try TestSetup(listensOnLoopback: true) { $0.pushedAuthorizationRequests = .required }
        setup.browser.followsRedirects = false
        let application = try setup.application()
        let request = try await application.prepareAuthorization(InteractiveParameters(scopes: ["api.read"]))
        #expect(request.expiresOn == setup.clock.now.addingTimeInterval(90))
        #expect(!request.url.absoluteString.contains("redirect_uri"))
        try await setup.browser.open(request.url)
        let redirect = try await setup.browser.redirectURL()
        let wrong = try #require(URL(string: "\(request.redirectURI)?code=x&state=guessed"))
        try await expectError(.stateMismatch) { try await application.completeAuthorization(request, with: wrong) }
        let result = try await application.completeAuthorization(request, with: redirect)
        #expect(result.source == .identityProvider)

        setup.provider.settings.pushedAuthorizationRequests = .unavailable
        setup.clock.advance(by: .seconds(2 * 86_400))
        let plain = try await application.prepareAuthorization(InteractiveParameters(scopes: ["api.read"]))
        #expect(plain.expiresOn == nil)
    }

    @Test func anAddressThatIsOpenedTooLateEndsAtTheProvidersPage() async throws {
        let setup = try TestSetup { $0.pushedAuthorizationRequests = .required }
        let application = try setup.application()
        let request = try await application.prepareAuthorization(InteractiveParameters(scopes: ["api.read"]))
        let expiresOn = try #require(request.expiresOn)
        setup.clock.advance(by: .seconds(expiresOn.timeIntervalSince(setup.clock.now)))
        let page = try await setup.browser.visit(request.url)
        #expect(page.status == 400 && page.body.contains("has expired"))
    }

    /// The metadata stays valid for everything else.
    @Test func refreshesWherePushingIsRequiredAndImpossible() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.provider.failAlways(.discovery, with: .changing("require_pushed_authorization_requests", to: "true"))
        setup.clock.advance(by: .seconds(2 * 86_400))
        let refreshed = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(refreshed.source == .identityProvider)
        let error = try await expectError(.unsupported) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(error.message.contains("pushed_authorization_request_endpoint"))
        #expect(setup.browser.openedURLs.count == 1)
    }
}
