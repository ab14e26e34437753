// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// The relying-party modules about logout that the program begins, each under its identifier without `oidcc-client-`.
@Suite(.timeLimit(.minutes(1)))
struct LogoutModuleTests {
    private func signOut(_ fault: ScriptedBrowser.RedirectFault?, expecting outcome: String) async throws {
        let setup = try TestSetup(listensOnLoopback: true)
        let (application, first) = try await setup.signedIn()
        setup.browser.redirectFaults = fault.map { [$0] } ?? []
        var parameters = SignOutParameters()
        parameters.endsBrowserSession = true
        parameters.postLogoutRedirectURI = try .loopback(path: "/signed-out")
        let result = try await application.signOut(first.account, parameters: parameters)
        #expect(result.browserSession.word == outcome)
        let sent = try #require(setup.provider.requests.last { $0.endpoint == .endSession })
        #expect(sent["id_token_hint"] == first.idToken && (sent["state"] ?? "").utf8.count >= 40)
        #expect(sent["post_logout_redirect_uri"]?.hasSuffix("/signed-out") == true)
        #expect(try await application.allAccounts().isEmpty, "The account is gone in any case.")
    }

    @Test func test_rp_init_logout() async throws { try await signOut(nil, expecting: "succeeded") }

    /// The return ends the wait, and confirms nothing: another page can have sent it.
    @Test func test_rp_init_logout_other_state() async throws {
        try await signOut(.changing("state", to: "another"), expecting: "unconfirmed")
    }

    @Test func test_rp_init_logout_no_state() async throws {
        try await signOut(.changing("state", to: nil), expecting: "unconfirmed")
    }
}
