// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient
import IdentityTesting
import OAuthWire
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ProviderPagesTests {
    private func url(_ client: ProviderClient, _ changes: [String: String?] = [:]) throws -> URL {
        let text = try FormURLEncoded.appending(client.authorizationItems(changes), to: client.base + "/authorize")
        return try #require(URL(string: text))
    }

    private func redirect(_ browser: ScriptedBrowser) async throws -> AuthorizationResponse {
        let url = try await browser.redirectURL()
        let query = try #require(url.absoluteString.split(separator: "?", maxSplits: 1).last)
        return try AuthorizationResponse.parse(query: FormURLEncoded.decode(String(query)))
    }

    private func visit(
        _ provider: TestIdentityProvider,
        _ changes: [String: String?] = [:],
        _ browser: ScriptedBrowser? = nil
    ) async throws -> AuthorizationResponse {
        let browser = browser ?? ScriptedBrowser(provider: provider)
        browser.followsRedirects = false
        try await browser.open(url(ProviderClient(provider: provider), changes))
        return try await redirect(browser)
    }

    private func error(_ response: AuthorizationResponse) -> String? {
        guard case .error(let error) = response.outcome else { return nil }
        return error.error
    }

    @Test func escapesWhatCameFromOutside() async throws {
        let hint = #""><script>alert(1)</script>&'"#
        let page = try await ProviderClient(provider: try TestIdentityProvider()).authorize(["login_hint": hint])
        #expect(!page.text.contains("<script>"))
        #expect(page.text.contains("&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;&#39;"))
        #expect(page.headers[.contentSecurityPolicy]?.contains("default-src 'none'") == true)
    }

    @Test func signsInThroughTheFormAndRedeemsTheCode() async throws {
        let provider = try TestIdentityProvider()
        let client = ProviderClient(provider: provider)
        let browser = ScriptedBrowser(provider: provider, signingInAs: .bob)
        browser.followsRedirects = false
        try await browser.open(url(client))
        guard case .code(let code) = try await redirect(browser).outcome else {
            Issue.record("no code")
            return
        }
        let tokens = try TokenResponse(try await client.redeem(code: code).json)
        #expect(try JSONWebToken(compact: try #require(tokens.idToken)).claims.string("sub") == "subject-bob")
        #expect(browser.pages.map(\.status) == [200])
    }

    @Test func asksAgainAfterAWrongPassword() async throws {
        let provider = try TestIdentityProvider()
        var stranger = TestIdentityProvider.Person.alice
        stranger.password = "wrong"
        let browser = ScriptedBrowser(provider: provider, signingInAs: stranger)
        let page = try await browser.visit(url(ProviderClient(provider: provider)))
        #expect(page.body.contains("The username or the password is wrong."))
        #expect(page.body.contains("alice@example.test"))
        #expect(!page.body.contains(#"value="wrong""#))
    }

    @Test func remembersTheSessionForPromptNone() async throws {
        let clock = ManualClock()
        let provider = try TestIdentityProvider(clock: clock)
        let browser = ScriptedBrowser(provider: provider)
        #expect(error(try await visit(provider, ["prompt": "none"], browser)) == "login_required")
        #expect(error(try await visit(provider, [:], browser)) == nil)
        #expect(error(try await visit(provider, ["prompt": "none"], browser)) == nil)
        #expect(browser.pages.count == 1)

        clock.advance(by: .seconds(100))
        #expect(error(try await visit(provider, ["prompt": "none", "max_age": "60"], browser)) == "login_required")
        #expect(error(try await visit(provider, ["prompt": "login"], browser)) == nil)
        #expect(browser.pages.count == 2)
        provider.requireSecondFactor(of: .alice)
        #expect(error(try await visit(provider, ["prompt": "none"], browser)) == "interaction_required")
        provider.revokeSessions(of: .alice)
        #expect(error(try await visit(provider, ["prompt": "none"], browser)) == "login_required")
    }

    @Test func letsThePersonChooseTheAccount() async throws {
        let provider = try TestIdentityProvider()
        let browser = ScriptedBrowser(provider: provider)
        _ = try await visit(provider, [:], browser)
        #expect(error(try await visit(provider, ["prompt": "select_account"], browser)) == nil)
        #expect(browser.pages.last?.body.contains("Choose an account") == true)
    }

    @Test func asksForASecondFactorOnAPageOfItsOwn() async throws {
        let provider = try TestIdentityProvider()
        provider.settings.secondFactorCode = "246810"
        let browser = ScriptedBrowser(provider: provider)
        #expect(error(try await visit(provider, [:], browser)) == nil)
        #expect(browser.pages.map { $0.body.contains("Enter the code") } == [false, true])
    }

    @Test func takesNoCodeButTheRightOneAndNoneWithoutThePassword() async throws {
        let provider = try TestIdentityProvider()
        provider.settings.secondFactorCode = "246810"
        let client = ProviderClient(provider: provider)
        let page = try await client.authorize()
        let start = try #require(page.text.firstRange(of: #"name="interaction" value=""#)).upperBound
        let id = String(page.text[start...].prefix { $0 != "\"" })
        func post(_ items: [(String, String)]) async throws -> String {
            let answer = try await client.post("/interaction", [("interaction", id)] + items)
            return answer.headers[.location] ?? answer.text
        }
        let code = [("action", "verify"), ("second_factor", "246810")]
        #expect(try await post(code).contains("The code is wrong."))
        let person = TestIdentityProvider.Person.alice
        let password = [("action", "sign-in"), ("username", person.username), ("password", person.password)]
        #expect(try await post(password).contains("Enter the code"))
        #expect(try await post([("action", "verify"), ("second_factor", "1")]).contains("The code is wrong."))
        #expect(try await post(code).hasPrefix(ProviderClient.redirectURI + "?code="))
    }

    @Test func showsAnOutOfBandAnswerInAPagesTitle() async throws {
        let urn = "urn:ietf:wg:oauth:2.0:oob"
        let provider = try TestIdentityProvider.approving()
        provider.add(TestIdentityProvider.Client(redirectURIs: [urn]))
        let client = ProviderClient(provider: provider)
        #expect(try await client.authorize(["redirect_uri": urn]).headers[.location]?.hasPrefix(urn + "?code=") == true)
        provider.settings.titlesOutOfBandAnswers = true
        #expect(try await client.authorize(["redirect_uri": urn]).text.contains("<title>Success code="))
    }

    @Test func asksForConsentOncePerScope() async throws {
        let provider = try TestIdentityProvider()
        provider.settings.consentScopes = ["read", "write"]
        let browser = ScriptedBrowser(provider: provider, behaviour: .deny)
        let scope = ["scope": "openid read"]
        #expect(error(try await visit(provider, scope, browser)) == "access_denied")
        browser.behaviour = .approve
        #expect(error(try await visit(provider, scope, browser)) == nil)
        let count = browser.pages.count
        #expect(error(try await visit(provider, scope.merging(["prompt": "none"]) { $1 }, browser)) == nil)
        #expect(browser.pages.count == count)
        #expect(
            error(try await visit(provider, ["scope": "openid write", "prompt": "none"], browser)) == "consent_required"
        )
        provider.withdrawConsent(of: .alice)
        #expect(
            error(try await visit(provider, ["scope": "openid read", "prompt": "none"], browser)) == "consent_required"
        )
    }

    @Test func leavesAdministratorsScopesToAdministrators() async throws {
        let provider = try TestIdentityProvider()
        provider.settings.adminConsentScopes = ["everything"]
        let browser = ScriptedBrowser(provider: provider)
        #expect(error(try await visit(provider, ["scope": "openid everything"], browser)) == "access_denied")
        #expect(browser.pages.last?.body.contains("An administrator must agree") == true)
    }

    @Test func letsThePersonCancelOrWalkAway() async throws {
        let provider = try TestIdentityProvider()
        let canceller = ScriptedBrowser(provider: provider, behaviour: .cancel)
        #expect(error(try await visit(provider, [:], canceller)) == "access_denied")
        let idler = ScriptedBrowser(provider: provider, behaviour: .abandon)
        let page = try await idler.visit(url(ProviderClient(provider: provider)))
        #expect(page.body.contains("Sign in"))
        #expect(provider.count(of: .interaction) == 1)
    }

    @Test func signsOutAndGoesBackToTheProgram() async throws {
        let provider = try TestIdentityProvider()
        let browser = ScriptedBrowser(provider: provider)
        _ = try await visit(provider, [:], browser)
        let page = try await browser.visit(#require(URL(string: "https://login.example.test/logout")))
        #expect(page.body.contains("Signed out"))
        #expect(error(try await visit(provider, ["prompt": "none"], browser)) == "login_required")

        let client = ProviderClient(provider: provider)
        let items = [
            ("post_logout_redirect_uri", ProviderClient.redirectURI), ("state", "s"), ("client_id", "test-client"),
        ]
        let answer = try await client.get(FormURLEncoded.appending(items, to: "/logout"))
        #expect(answer.headers[.location] == ProviderClient.redirectURI + "?state=s")
        let elsewhere = [("post_logout_redirect_uri", "https://evil.example/")]
        #expect(try await client.get(FormURLEncoded.appending(elsewhere, to: "/logout")).headers[.location] == nil)
    }

    @Test func speaksOfB2CsPasswordResetInItsDescription() async throws {
        let provider = try TestIdentityProvider(profile: .b2c)
        for (behaviour, prefix) in [
            (ScriptedBrowser.Behaviour.forgetPassword, "AADB2C90118"), (.cancel, "AADB2C90091"),
        ] {
            let browser = ScriptedBrowser(provider: provider, behaviour: behaviour)
            browser.followsRedirects = false
            let items = ProviderClient(provider: provider).authorizationItems()
            let endpoint = try #require(provider.authority.templates?.authorizationEndpoint)
            try await browser.open(#require(URL(string: FormURLEncoded.appending(items, to: endpoint))))
            guard case .error(let error) = try await redirect(browser).outcome else {
                Issue.record("no error")
                continue
            }
            #expect(error.error == "access_denied")
            #expect(error.errorDescription?.hasPrefix(prefix) == true)
        }
    }

    @Test func tellsWhoSignedInToWhoHasTheToken() async throws {
        let provider = try TestIdentityProvider.approving()
        let client = ProviderClient(provider: provider)
        let tokens = try TokenResponse(try await client.redeem(code: client.code()).json)
        let token = try #require(tokens.accessToken)
        #expect(provider.accepts(accessToken: token))
        let answer = try await client.get("/userinfo", authorization: "Bearer " + token)
        #expect(try answer.json.string("sub") == "subject-alice")
        #expect(try await client.get("/userinfo", authorization: "Bearer other").status == 401)
        provider.revokeSessions(of: .alice)
        #expect(try await client.get("/userinfo", authorization: "Bearer " + token).status == 401)
        #expect(!provider.accepts(accessToken: token))
    }
}
