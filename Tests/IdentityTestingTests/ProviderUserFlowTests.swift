// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

/// B2C's other policies, from the view of a program and its user.
@Suite(.timeLimit(.minutes(1)))
struct ProviderUserFlowTests {
    private static let policies = ["b2c_1_susi", "b2c_1_edit", "b2c_1_reset"]

    private func setup(_ change: (inout TestIdentityProvider.Settings) -> Void = { _ in }) throws -> TestSetup {
        try TestSetup(.b2c(tenant: "contoso.onmicrosoft.com", policies: Self.policies)) { settings in
            settings.userFlows = [
                "b2c_1_susi": .signUpOrSignIn, "b2c_1_edit": .editProfile, "b2c_1_reset": .passwordReset,
            ]
            change(&settings)
        }
    }

    private func visit(_ policy: String, _ setup: TestSetup) async throws -> AuthenticationResult {
        var parameters = InteractiveParameters(scopes: ["test-client"])
        parameters.authority = try setup.provider.authority(policy: policy)
        return try await setup.application().acquireTokenInteractively(parameters)
    }

    /// The titles of the provider's pages so far, without those that pass an answer on.
    private func titles(_ setup: TestSetup) -> [String] {
        setup.browser.pages.filter { $0.body.contains(#"name="interaction""#) }.compactMap { page in
            page.body.split(separator: "<h1>").last?.prefix { $0 != "<" }
        }
        .map(String.init)
    }

    private func name(_ result: AuthenticationResult) throws -> String {
        try JSONWebToken(compact: #require(result.idToken)).claims.string("name") ?? ""
    }

    @Test func signsUpAndKnowsThePersonFromThenOn() async throws {
        let setup = try setup()
        var newcomer = TestIdentityProvider.Person.alice
        newcomer.username = "mairead@example.test"
        newcomer.name = "Máiréad O'Neill"
        setup.browser.person = newcomer
        setup.browser.behaviour = .signUp
        let first = try await visit("b2c_1_susi", setup)
        #expect(try name(first) == "Máiréad O'Neill")

        setup.browser.forgetCookies()
        setup.browser.behaviour = .approve
        let second = try await visit("b2c_1_susi", setup)
        #expect(second.account.id == first.account.id)
        #expect(titles(setup) == ["Sign in", "Sign up", "Sign in"])
    }

    @Test func refusesToSignUpTwice() async throws {
        let setup = try setup()
        setup.browser.behaviour = .signUp
        let items = ProviderClient(provider: setup.provider).authorizationItems()
        let endpoint = try #require(setup.provider.authority.templates?.authorizationEndpoint)
        let url = try #require(URL(string: FormURLEncoded.appending(items, to: endpoint)))
        let page = try await setup.browser.visit(url)
        #expect(page.body.contains("There is an account with this username already."))
    }

    @Test func editsTheNameOfWhoeverIsSignedIn() async throws {
        let setup = try setup()
        let before = try await visit("b2c_1_susi", setup)
        #expect(try name(before) == "Alice Example")
        setup.browser.person.name = "Álice"
        let edited = try await visit("b2c_1_edit", setup)
        #expect(try name(edited) == "Álice")
        #expect(edited.account.id == before.account.id)
        #expect(titles(setup) == ["Sign in", "Edit your profile"])
    }

    @Test func cancelsAnEditWithB2CsNumber() async throws {
        let setup = try setup()
        setup.browser.behaviour = .cancel
        try await expectError(.userCancelled) { try await visit("b2c_1_edit", setup) }
    }

    @Test func setsANewPassword() async throws {
        let setup = try setup()
        setup.browser.person.password = "a new one"
        setup.browser.behaviour = .forgetPassword
        try await expectError(.passwordResetRequired) { try await visit("b2c_1_susi", setup) }
        let reset = try await visit("b2c_1_reset", setup)
        #expect(try name(reset) == "Alice Example")

        // The session in the browser is enough for the other policy, and the new password for another browser.
        setup.browser.behaviour = .approve
        #expect(titles(setup) == ["Sign in", "Reset the password"])
        _ = try await visit("b2c_1_susi", setup)
        #expect(titles(setup).count == 2)
        setup.browser.forgetCookies()
        #expect(try await visit("b2c_1_susi", setup).account.id == reset.account.id)
        #expect(titles(setup) == ["Sign in", "Reset the password", "Sign in"])
    }

    @Test func asksForThePasswordToResetWhoeverIsSignedIn() async throws {
        let setup = try setup()
        _ = try await visit("b2c_1_susi", setup)
        _ = try await visit("b2c_1_reset", setup)
        #expect(titles(setup) == ["Sign in", "Reset the password"])
    }

    @Test func offersPeopleOnlyWhereItIsSaidSo() async throws {
        for offers in [false, true] {
            let provider = try TestIdentityProvider()
            provider.settings.offersPeople = offers
            let client = ProviderClient(provider: provider)
            let page = try await client.authorize()
            let button = #"<button name="person" value="bob@example.test">Bob Example</button>"#
            #expect(page.text.contains(button) == offers)

            let marker = #"name="interaction" value=""#
            let id = try #require(page.text.split(separator: marker).last?.prefix { $0 != "\"" })
            let form = [("interaction", String(id)), ("person", "bob@example.test")]
            let answer = try await client.post("/interaction", form)
            #expect(try (answer.redirect["code"] != nil) == offers, "without the setting, no password means no sign-in")
        }
    }

    @Test func tellsWhatATokenStandsFor() async throws {
        let setup = try setup()
        let result = try await visit("b2c_1_susi", setup)
        let known = try #require(setup.provider.introspect(accessToken: result.accessToken))
        #expect(known.clientID == "test-client" && known.person == .alice)
        #expect(known.scopes.contains("test-client") && known.requestedClaims == nil)
        #expect(known.expires > setup.clock.now)
        #expect(setup.provider.introspect(accessToken: result.accessToken + "x") == nil)

        let challenge = #"{"access_token":{"acrs":{"essential":true,"value":"c1"}}}"#
        var silent = SilentParameters(scopes: ["test-client"], account: result.account)
        silent.claims = challenge
        let stronger = try await setup.application().acquireTokenSilently(silent)
        let asked = try #require(setup.provider.introspect(accessToken: stronger.accessToken)?.requestedClaims)
        #expect(asked.contains(#""acrs":{"essential":true,"value":"c1"}"#))

        setup.clock.advance(by: .seconds(3600))
        #expect(setup.provider.introspect(accessToken: result.accessToken) == nil)
    }
}
