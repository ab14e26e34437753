// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

/// The answers in the relying-party modules of the FAPI 2.0 Security Profile, each under its identifier without
/// `fapi2-security-profile-final-client-`.
///
/// The plan demands client authentication and tokens that are bound to a key. A public client meets the same answers with
/// pushed requests and bearer tokens.
@Suite(.timeLimit(.minutes(1)))
struct FAPI2ModuleTests {
    private func setup() throws -> TestSetup { try TestSetup { $0.pushedAuthorizationRequests = .required } }

    private func refuse(_ tampering: IDTokenTampering, for reason: String) async throws {
        try await setup().refuseIDToken(tampering, for: reason)
    }

    @Test func test_happy_path() async throws {
        let setup = try setup()
        try await setup.completeModule()
        let pushed = try #require(setup.provider.requests.first { $0.endpoint == .pushedAuthorization })
        #expect(pushed["code_challenge_method"] == "S256" && pushed["state"] != nil && pushed["nonce"] != nil)
        let asked = try #require(setup.provider.requests.first { $0.endpoint == .authorization })
        #expect(Set(asked.query.map(\.name)) == ["client_id", "request_uri"])
    }

    @Test func test_discovery_issuer_mismatch() async throws {
        let setup = try setup()
        setup.provider.failAlways(.discovery, with: .changing("issuer", to: #""https://login.example.test/other""#))
        try await expectError(.invalidResponse) { try await setup.signedIn() }
        #expect(setup.provider.count(of: .pushedAuthorization) + setup.provider.count(of: .authorization) == 0)
    }

    @Test func test_invalid_iss() async throws { try await refuse(.issuer("https://evil.example.test"), for: "(iss)") }

    @Test func test_invalid_missing_iss() async throws { try await refuse(.claim("iss", nil), for: "iss") }

    @Test func test_invalid_aud() async throws { try await refuse(.audience(["another-client"]), for: "(aud") }

    @Test func test_invalid_missing_aud() async throws { try await refuse(.claim("aud", nil), for: "aud") }

    /// An audience that is not known, and no `azp` that names this client.
    @Test func test_invalid_secondary_aud() async throws {
        try await refuse(.audience(["test-client", "another-client"]), for: "azp")
    }

    @Test func test_valid_aud_as_array() async throws {
        let setup = try setup()
        setup.provider.tamperNextIDToken(with: .audience(["test-client"]))
        try await setup.completeModule()
    }

    @Test func test_invalid_null_alg() async throws { try await refuse(.algorithm("none"), for: "(alg)") }

    /// RS256 by a key that is published for no algorithm; the configuration names another algorithm.
    @Test func test_invalid_alternate_alg() async throws {
        let setup = try setup()
        var keys = try await setup.publishedKeys()
        for index in keys.indices { keys[index]["alg"] = nil }
        setup.publish(keys)
        let name = "id_token_signing_alg_values_supported"
        setup.provider.failAlways(.discovery, with: .changing(name, to: #"["PS256","ES256"]"#))
        try await setup.refuseIDToken(for: name)
    }

    @Test func test_invalid_expired_exp() async throws { try await refuse(.expired, for: "(exp)") }

    @Test func test_invalid_missing_exp() async throws { try await refuse(.claim("exp", nil), for: "exp") }

    @Test func test_invalid_nonce() async throws { try await refuse(.nonce("another"), for: "(nonce)") }

    @Test func test_invalid_missing_nonce() async throws { try await refuse(.nonce(nil), for: "(nonce)") }

    @Test func test_invalid_authorization_response_iss() async throws {
        try await refuseRedirect(.changing("iss", to: "https://evil.example.test"))
    }

    @Test func test_remove_authorization_response_iss() async throws {
        try await refuseRedirect(.changing("iss", to: nil))
    }

    private func refuseRedirect(_ fault: ScriptedBrowser.RedirectFault) async throws {
        let setup = try setup()
        setup.browser.redirectFaults = [fault]
        try await expectError(.invalidResponse) { try await setup.signedIn() }
        #expect(setup.provider.count(of: .token) == 0)
        #expect(try await setup.browser.finalPage().status == 400)
    }

    @Test func test_ensure_authorization_response_with_invalid_state_fails() async throws {
        try await ignoreRedirect(.changing("state", to: "another"))
    }

    @Test func test_ensure_authorization_response_with_invalid_missing_state_fails() async throws {
        try await ignoreRedirect(.changing("state", to: nil))
    }

    /// The person sees the refusal, and the program waits for the right answer.
    private func ignoreRedirect(_ fault: ScriptedBrowser.RedirectFault) async throws {
        let setup = try setup()
        setup.browser.redirectFaults = [fault]
        let application = try setup.application()
        let task = Task { try await application.acquireTokenInteractively(scopes: ["api.read"]) }
        _ = try await setup.provider.waitForRequest(.authorization)
        #expect(try await setup.browser.finalPage().status == 400)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(setup.provider.count(of: .token) == 0)
    }

    @Test func test_token_endpoint_response_without_expires_in() async throws {
        let setup = try setup()
        setup.provider.failNext(.token, with: .changing("expires_in", to: nil))
        try await setup.completeModule()
        #expect(setup.provider.count(of: .token) == 1, "The token is used.")
    }

    @Test func test_token_type_case_insensitivity() async throws {
        let setup = try setup()
        setup.provider.failNext(.token, with: .changing("token_type", to: #""bEARER""#))
        try await setup.completeModule()
        let sent = try #require(setup.provider.requests.last { $0.endpoint == .userInfo })
        #expect(sent.header("Authorization")?.hasPrefix("Bearer ") == true)
    }
}
