// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

/// The relying-party modules of the OpenID Foundation's conformance suite, each under its identifier without
/// `oidcc-client-`. `Docs/conformance.md` is the list.
@Suite(.timeLimit(.minutes(1)))
struct RelyingPartyTests {
    private func expectRefusal(_ tampering: IDTokenTampering, naming claim: String) async throws {
        let setup = try TestSetup()
        setup.provider.tamperNextIDToken(with: tampering)
        let application = try setup.application()
        let error = try await expectError(.invalidIDToken) {
            try await application.acquireTokenInteractively(scopes: ["api.read"])
        }
        #expect(error.message.contains(claim), "\(error.message)")
        #expect(try await setup.storedCredentials(of: application).isEmpty)
    }

    @Test(arguments: [["query"], ["query", "form_post"]])
    func test(responseModes: [String]) async throws {
        let setup = try TestSetup { $0.responseModes = responseModes }
        let (application, result) = try await setup.signedIn()
        #expect(result.source == .identityProvider && result.idToken != nil)
        #expect(try await application.allAccounts() == [result.account])
    }

    /// RFC 6749 §3.1: a parameter occurs at most once.
    @Test func aCodeThatComesTwiceIsNotRedeemed() async throws {
        let setup = try TestSetup()
        let application = try setup.application()
        let request = try await application.prepareAuthorization(InteractiveParameters(scopes: ["api.read"]))
        let items = try #require(URLComponents(url: request.url, resolvingAgainstBaseURL: false)?.queryItems)
        func sent(_ name: String) throws -> String { try #require(items.first { $0.name == name }?.value) }
        let redirect = try "\(sent("redirect_uri"))?code=theirs&state=\(sent("state"))&code=ours"
        let url = try #require(URL(string: redirect))
        try await expectError(.malformedResponse) { try await application.completeAuthorization(request, with: url) }
        #expect(setup.provider.count(of: .token) == 0)
    }

    @Test func test_invalid_iss() async throws {
        try await expectRefusal(.issuer("https://login.example.test/other"), naming: "iss")
    }

    @Test func test_missing_sub() async throws { try await expectRefusal(.claim("sub", nil), naming: "sub") }

    @Test func test_invalid_aud() async throws {
        try await expectRefusal(.audience(["another-client"]), naming: "aud")
    }

    @Test func test_missing_aud() async throws { try await expectRefusal(.claim("aud", nil), naming: "aud") }

    @Test func test_missing_iat() async throws { try await expectRefusal(.claim("iat", nil), naming: "iat") }

    @Test func test_nonce_invalid() async throws { try await expectRefusal(.nonce("another"), naming: "nonce") }

    @Test func test_kid_absent_single_jwks() async throws {
        let setup = try TestSetup()
        setup.provider.tamperNextIDToken(with: .keyID(nil))
        #expect(try await setup.signedIn().1.source == .identityProvider)
    }

    /// The module allows a client to refuse, or to try all keys that fit.
    @Test func test_kid_absent_multiple_jwks() async throws {
        let setup = try TestSetup()
        setup.provider.rotateSigningKey(keepsOldKeys: true)
        setup.provider.tamperNextIDToken(with: .keyID(nil))
        #expect(try await setup.signedIn().1.source == .identityProvider)
    }

    @Test func test_idtoken_sig_rs256() async throws {
        let setup = try TestSetup()
        let token = try JSONWebToken(compact: try #require(try await setup.signedIn().1.idToken))
        #expect(token.algorithm == "RS256")
    }

    @Test func test_idtoken_sig_none() async throws { try await expectRefusal(.algorithm("none"), naming: "alg") }

    @Test func test_invalid_sig_rs256() async throws { try await expectRefusal(.brokenSignature, naming: "signature") }

    @Test func test_invalid_sig_hs256() async throws { try await expectRefusal(.algorithm("HS256"), naming: "alg") }

    @Test func test_invalid_sig_es256() async throws {
        let setup = try TestSetup()
        setup.provider.failAlways(
            .discovery,
            with: .changing("id_token_signing_alg_values_supported", to: #"["RS256","ES256"]"#)
        )
        setup.provider.tamperNextIDToken(with: .algorithm("ES256"))
        let error = try await expectError(.invalidIDToken) { try await setup.signedIn() }
        #expect(error.message.contains("kid, alg"))
    }

    /// Keys of unknown types precede the right one.
    @Test func test_ignores_unparseable_key_in_jwks() async throws {
        let setup = try TestSetup()
        let request = HTTPRequest(
            method: .get,
            scheme: "https",
            authority: "login.example.test",
            path: "/keys"
        )
        let (_, body) = try await setup.provider.transport.send(request, body: nil)
        let published = try #require(String(decoding: body, as: UTF8.self).split(separator: ":", maxSplits: 1).last)
        let keys = published.trimmingPrefix("[").dropLast(2)
        let unknown = #"{"kty":"AKP","kid":"1","alg":"ML-DSA-44","pub":"AA"},{"kty":"made-up","kid":"2","x":7}"#
        setup.provider.failAlways(.keys, with: .changing("keys", to: "[\(unknown),\(keys)]"))
        #expect(try await setup.signedIn().1.source == .identityProvider)
        #expect(setup.provider.count(of: .keys) == 2, "The test asks, and the program.")
    }

    /// With `prompt=none` and `max_age=0`, the provider can only refuse. Its form post contains an error without `iss`.
    @Test func test_form_post_error() async throws {
        let setup = try TestSetup(listensOnLoopback: true)
        setup.browser.redirectFaults = [.changing("iss", to: nil)]
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.responseMode = .formPost
        parameters.prompt = Prompt.none
        parameters.maxAge = .zero
        let application = try setup.application()
        let error = try await expectError(.loginRequired) {
            try await application.acquireTokenInteractively(parameters)
        }
        #expect(error.serverError?.error == "login_required")
        let asked = try #require(setup.provider.requests.first { $0.endpoint == .authorization })
        #expect(asked["prompt"] == "none" && asked["max_age"] == "0" && asked["response_mode"] == "form_post")
        #expect(setup.provider.count(of: .token) == 0)
    }

    @Test func test_discovery_openid_config() async throws {
        let setup = try TestSetup()
        _ = try await setup.signedIn()
        #expect(setup.provider.count(of: .discovery) == 1)
    }

    @Test func test_discovery_jwks_uri_keys() async throws {
        let setup = try TestSetup()
        _ = try await setup.signedIn()
        #expect(setup.provider.count(of: .keys) == 1)
    }

    @Test(arguments: ["https://login.example.test/", "https://login.example.test/other", "https://evil.example.test"])
    func test_discovery_issuer_mismatch(issuer: String) async throws {
        let setup = try TestSetup()
        setup.provider.failAlways(.discovery, with: .changing("issuer", to: "\"\(issuer)\""))
        let error = try await expectError(.issuerMismatch) { try await setup.signedIn() }
        #expect(error.message.contains(issuer))
        #expect(setup.provider.count(of: .authorization) == 0)
    }

    @Test func test_signing_key_rotation() async throws {
        let setup = try TestSetup()
        let (application, _) = try await setup.signedIn()
        setup.provider.rotateSigningKey()
        #expect(try await application.acquireTokenInteractively(scopes: ["api.read"]).source == .identityProvider)
        #expect(setup.provider.count(of: .keys) == 2)
    }

    @Test func test_signing_key_rotation_just_before_signing() async throws {
        let setup = try TestSetup()
        let gate = Gate()
        setup.provider.failNext(.token, with: .held(by: gate))
        let application = try setup.application()
        let task = Task { try await application.acquireTokenInteractively(scopes: ["api.read"]) }
        try await setup.provider.waitForRequest(.token)
        setup.provider.rotateSigningKey()
        gate.open()
        #expect(try await task.value.source == .identityProvider)
    }

    @Test func test_refresh_token() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3600))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider && next.accessToken != first.accessToken)
    }

    @Test(arguments: [
        ("oidcc-client-test-refresh-token-invalid-issuer", IDTokenTampering.issuer("https://evil.example.test")),
        ("oidcc-client-test-refresh-token-invalid-sub", .subject("another")),
    ])
    func test_refresh_token_invalid(_ module: String, _ tampering: IDTokenTampering) async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3600))
        setup.provider.tamperNextIDToken(with: tampering)
        try await expectError(.invalidIDToken) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        }
    }

    @Test func test_rp_init_logout() async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        var parameters = SignOutParameters()
        parameters.endsBrowserSession = true
        parameters.postLogoutRedirectURI = try .loopback(path: "/signed-out")
        let result = try await application.signOut(first.account, parameters: parameters)
        guard case .succeeded = result.browserSession else {
            Issue.record("\(result.browserSession)")
            return
        }
        let sent = try #require(setup.provider.requests.last { $0.endpoint == .endSession })
        #expect(sent["id_token_hint"] == first.idToken && sent["state"] != nil)
    }
}
