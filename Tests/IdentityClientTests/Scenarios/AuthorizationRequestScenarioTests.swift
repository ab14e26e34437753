// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

/// The requests of a sign-in, and a sign-in in two steps.
@Suite(.timeLimit(.minutes(1)))
struct AuthorizationRequestScenarioTests {
    @Test(arguments: [TestIdentityProvider.Profile.openIDConnect, .entra])
    func sendsWhatTheProgramAsksFor(_ profile: TestIdentityProvider.Profile) async throws {
        let setup = try TestSetup(profile)
        let application = try setup.application()
        var parameters = InteractiveParameters(scopes: ["api.read", "api.write"])
        parameters.extraScopesToConsent = ["later.read"]
        parameters.prompt = .login
        parameters.loginHint = "alice@example.test"
        parameters.domainHint = "example.test"
        parameters.claims = #"{"id_token":{"email":null}}"#
        parameters.maxAge = .seconds(600)
        parameters.acrValues = ["urn:one", "urn:two"]
        parameters.uiLocales = ["de", "fr-CA"]
        parameters.extraQueryItems = ["audience": "https://api.example.test/", "kc_idp_hint": "a&b=c d"]
        parameters.correlationID = UUID()
        let result = try await application.acquireTokenInteractively(parameters)
        #expect(result.correlationID == parameters.correlationID)

        let sent = try #require(setup.provider.requests.first { $0.endpoint == .authorization })
        #expect(sent.method == "GET" && sent.form.isEmpty)
        #expect(Set(sent.query.map(\.name)).count == sent.query.count)
        let expected = [
            "client_id": "test-client", "response_type": "code", "code_challenge_method": "S256", "prompt": "login",
            "login_hint": "alice@example.test", "domain_hint": "example.test", "max_age": "600",
            "acr_values": "urn:one urn:two", "ui_locales": "de fr-CA", "audience": "https://api.example.test/",
            "kc_idp_hint": "a&b=c d",
        ]
        for (name, value) in expected { #expect(sent[name] == value, "\(name)") }
        let claims = try JSONObject(parsing: Array(try #require(sent["claims"]).utf8))
        #expect(claims.serialized() == Array(#"{"id_token":{"email":null}}"#.utf8))
        let scopes = Set(try #require(sent["scope"]).split(separator: " ").map(String.init))
        #expect(scopes == ["api.read", "api.write", "later.read", "openid", "profile", "offline_access"])
        #expect(
            sent["client-request-id"] == (profile == .entra ? parameters.correlationID?.uuidString.lowercased() : nil)
        )
        #expect(sent["code_verifier"] == nil)
    }

    @Test func sendsNothingThatWasNotAskedFor() async throws {
        let setup = try TestSetup()
        _ = try await setup.signedIn()
        let sent = try #require(setup.provider.requests.first { $0.endpoint == .authorization })
        #expect(
            Set(sent.query.map(\.name)) == [
                "client_id", "response_type", "redirect_uri", "scope", "state", "nonce", "code_challenge",
                "code_challenge_method", "response_mode",
            ]
        )
        let redeemed = try #require(setup.provider.requests.first { $0.endpoint == .token })
        #expect(
            Set(redeemed.form.map(\.name)) == [
                "grant_type", "client_id", "code", "redirect_uri", "code_verifier",
            ]
        )
        #expect(redeemed.query.isEmpty)
        #expect(redeemed["redirect_uri"] == sent["redirect_uri"])
        let verifier = try #require(redeemed["code_verifier"])
        #expect(ProofKey.challenge(for: verifier) == sent["code_challenge"])
    }

    @Test(arguments: [
        "state", "redirect_uri", "client_id", "code_challenge", "request", "request_uri", "nonce", "scope", "",
    ])
    func refusesAnExtraItemThatTheLibrarySets(_ name: String) async throws {
        let setup = try TestSetup()
        let application = try setup.application()
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.extraQueryItems = [name: "mine"]
        try await expectError(.invalidArgument) { try await application.acquireTokenInteractively(parameters) }
        #expect(setup.browser.openedURLs.isEmpty)
    }

    @Test(arguments: ["", "two words", "qu\"ote", "back\\slash", "ümlaut"])
    func refusesAScopeThatCannotBeSent(_ scope: String) async throws {
        let setup = try TestSetup()
        let application = try setup.application()
        try await expectError(.invalidArgument) {
            try await application.acquireTokenInteractively(scopes: [Scope(rawValue: scope)])
        }
        #expect(setup.browser.openedURLs.isEmpty)
    }

    @Test func refusesArgumentsThatMakeNoSense() async throws {
        let setup = try TestSetup()
        let application = try setup.application()
        func refused(_ change: (inout InteractiveParameters) throws -> Void) async throws {
            var parameters = InteractiveParameters(scopes: ["api.read"])
            try change(&parameters)
            let fixed = parameters
            try await expectError(.invalidArgument) { try await application.acquireTokenInteractively(fixed) }
        }
        try await refused { $0.timeout = .zero }
        try await refused { $0.timeout = .seconds(86_401) }
        try await refused { $0.maxAge = .seconds(-1) }
        try await refused { $0.claims = "not JSON" }
        try await refused { $0.loginHint = "a\r\nb" }
        try await refused { $0.authority = try .openIDConnect(issuer: "https://other.example.test") }
        #expect(setup.browser.openedURLs.isEmpty)
    }

    /// The provider chose the username, and the person cannot change it to sign in again.
    @Test(arguments: [
        ("alice@example.test", true), ("alice\u{7}", false), (String(repeating: "a", count: 1001), false),
    ])
    func leavesOutAStoredNameThatCannotBeSent(_ username: String, _ isSent: Bool) async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.account = Account(
            id: first.account.id,
            environment: first.account.environment,
            username: username
        )
        _ = try await application.acquireTokenInteractively(parameters)
        let sent = try #require(setup.provider.requests.last { $0.endpoint == .authorization })
        #expect(sent["login_hint"] == (isSent ? username : nil))
    }

    @Test func makesEverythingRandomAnewEachTime() async throws {
        let setup = try TestSetup()
        let application = try setup.application()
        for _ in 0..<5 { _ = try await application.acquireTokenInteractively(scopes: ["api.read"]) }
        let sent = setup.provider.requests.filter { $0.endpoint == .authorization }
        let verifiers = setup.provider.requests.filter { $0.endpoint == .token }.compactMap { $0["code_verifier"] }
        for name in ["state", "nonce", "code_challenge"] {
            let values = sent.compactMap { $0[name] }
            #expect(values.count == 5 && Set(values).count == 5, "\(name)")
            #expect(values.allSatisfy { $0.utf8.count >= 22 }, "\(name)")
        }
        #expect(verifiers.count == 5 && Set(verifiers).count == 5)
    }

    @Test(arguments: [TestIdentityProvider.Profile.openIDConnect, .entra])
    func signsInByHandInTwoSteps(_ profile: TestIdentityProvider.Profile) async throws {
        let setup = try TestSetup(profile, listensOnLoopback: true)
        setup.browser.followsRedirects = false
        let application = try setup.application()
        let request = try await application.prepareAuthorization(InteractiveParameters(scopes: ["api.read"]))
        try await setup.browser.open(request.url)
        let redirect = try await setup.browser.redirectURL()

        let base = request.redirectURI.absoluteString
        let wrong = [
            base, base + "?code=x", base + "?code=x&state=guessed",
            redirect.absoluteString.replacing("state=", with: "estate="),
            request.url.absoluteString,  // the usual slip: it has the state, and neither a code nor an error
        ]
        for address in wrong {
            let url = try #require(URL(string: address))
            try await expectError(.stateMismatch) { try await application.completeAuthorization(request, with: url) }
        }
        #expect(setup.provider.count(of: .token) == 0)

        let result = try await application.completeAuthorization(request, with: redirect)
        #expect(result.source == .identityProvider)
        #expect(result.correlationID == request.correlationID)
        #expect(try await application.allAccounts() == [result.account])
        try await expectError(.invalidArgument) {
            try await application.completeAuthorization(request, with: redirect)
        }
        #expect(setup.provider.count(of: .token) == 1)
    }

    @Test func refusesTheAnswerToAnotherRequest() async throws {
        let setup = try TestSetup(listensOnLoopback: true)
        setup.browser.followsRedirects = false
        let application = try setup.application()
        let first = try await application.prepareAuthorization(InteractiveParameters(scopes: ["api.read"]))
        let second = try await application.prepareAuthorization(InteractiveParameters(scopes: ["api.read"]))
        try await setup.browser.open(first.url)
        let redirect = try await setup.browser.redirectURL()
        try await expectError(.stateMismatch) { try await application.completeAuthorization(second, with: redirect) }
        #expect(try await application.completeAuthorization(first, with: redirect).source == .identityProvider)
    }
}
