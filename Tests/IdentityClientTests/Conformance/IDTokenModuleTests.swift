// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import HTTPTypes
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

/// The relying-party modules of the OpenID Foundation's conformance suite about sign-ins and ID tokens, each under its
/// identifier without `oidcc-client-`. `Docs/conformance.md` is the list. The modules of the Basic plan run in both
/// response modes, as in the Form Post Basic plan.
@Suite(.timeLimit(.minutes(1)))
struct IDTokenModuleTests {
    @Test(arguments: ResponseMode.allCases)
    func test(_ mode: ResponseMode) async throws {
        let setup = try TestSetup()
        try await setup.completeModule(mode)
        let asked = try #require(setup.provider.requests.first { $0.endpoint == .authorization })
        #expect(asked["response_type"] == "code" && asked["scope"]?.split(separator: " ").contains("openid") == true)
    }

    /// The suite's issuers end with a slash. It names no issuer in its answers and no method of PKCE, and it publishes
    /// algorithms and methods that a public client cannot use.
    @Test(arguments: ResponseMode.allCases)
    func signsInWithTheSuitesConfiguration(_ mode: ResponseMode) async throws {
        let issuer = "https://login.example.test/"
        let setup = try TestSetup {
            ($0.namesIssuerInResponse, $0.advertisesS256, $0.issuesRefreshTokens) = (false, false, false)
        }
        let algorithms = #"["none","HS256","HS384","HS512","RS256","ES256","PS256"]"#
        let methods = #"["client_secret_basic","client_secret_post","client_secret_jwt","private_key_jwt"]"#
        setup.provider.failAlways(
            .discovery,
            with: .all(
                .changing("issuer", to: "\"\(issuer)\""),
                .changing("response_types_supported", to: #"["code","id_token code","token"]"#),
                .changing("response_modes_supported", to: #"["query","fragment","form_post"]"#),
                .changing("grant_types_supported", to: #"["authorization_code","implicit"]"#),
                .changing("token_endpoint_auth_methods_supported", to: methods),
                .changing("id_token_signing_alg_values_supported", to: algorithms)
            )
        )
        setup.provider.tamperNextIDToken(with: .issuer(issuer))
        let authority = try Authority.openIDConnect(issuer: issuer)
        try await setup.completeModule(mode) { $0.authority = authority }
    }

    @Test(arguments: ResponseMode.allCases)
    func test_invalid_iss(_ mode: ResponseMode) async throws {
        try await TestSetup().refuseIDToken(.issuer("https://login.example.test/other"), mode, for: "(iss)")
    }

    @Test(arguments: ResponseMode.allCases)
    func test_missing_sub(_ mode: ResponseMode) async throws {
        try await TestSetup().refuseIDToken(.claim("sub", nil), mode, for: "sub")
    }

    @Test(arguments: ResponseMode.allCases)
    func test_invalid_aud(_ mode: ResponseMode) async throws {
        try await TestSetup().refuseIDToken(.audience(["another-client"]), mode, for: "(aud")
    }

    @Test func test_missing_aud() async throws {
        try await TestSetup().refuseIDToken(.claim("aud", nil), for: "aud")
    }

    @Test(arguments: ResponseMode.allCases)
    func test_missing_iat(_ mode: ResponseMode) async throws {
        try await TestSetup().refuseIDToken(.claim("iat", nil), mode, for: "(iat)")
    }

    @Test(arguments: ResponseMode.allCases)
    func test_nonce_invalid(_ mode: ResponseMode) async throws {
        try await TestSetup().refuseIDToken(.nonce("another"), mode, for: "(nonce)")
    }

    /// The module is for other response types; with the code flow, a nonce is sent too.
    @Test func test_nonce_unless_code_flow() async throws {
        let setup = try TestSetup()
        try await setup.completeModule()
        let asked = try #require(setup.provider.requests.first { $0.endpoint == .authorization })
        #expect((asked["nonce"] ?? "").utf8.count >= 40)
    }

    /// The module is for other response types; an ID token from the token endpoint may have the claim too.
    @Test func test_invalid_athash() async throws {
        try await TestSetup().refuseIDToken(.accessTokenHash, for: "(at_hash)")
    }

    /// Neither the key nor the token has a name.
    @Test(arguments: ResponseMode.allCases)
    func test_kid_absent_single_jwks(_ mode: ResponseMode) async throws {
        let setup = try TestSetup()
        setup.publish(try await setup.publishedKeys().map { $0.without("kid") })
        setup.provider.tamperNextIDToken(with: .keyID(nil))
        try await setup.completeModule(mode)
    }

    /// The module allows a client to refuse, or to try all keys that fit.
    @Test(arguments: ResponseMode.allCases)
    func test_kid_absent_multiple_jwks(_ mode: ResponseMode) async throws {
        let setup = try TestSetup()
        setup.provider.rotateSigningKey(keepsOldKeys: true)
        let keys = try await setup.publishedKeys()
        #expect(keys.count == 2, "The second key is the right one.")
        setup.publish(keys.map { $0.without("kid") })
        setup.provider.tamperNextIDToken(with: .keyID(nil))
        try await setup.completeModule(mode)
    }

    @Test(arguments: ResponseMode.allCases)
    func test_idtoken_sig_rs256(_ mode: ResponseMode) async throws {
        let result = try await TestSetup().completeModule(mode)
        #expect(try JSONWebToken(compact: try #require(result.idToken)).algorithm == "RS256")
    }

    /// The module allows a client to accept the token; it is refused here, even if the provider publishes the algorithm.
    @Test(arguments: ResponseMode.allCases)
    func test_idtoken_sig_none(_ mode: ResponseMode) async throws {
        let setup = try TestSetup()
        setup.provider.failAlways(
            .discovery,
            with: .changing("id_token_signing_alg_values_supported", to: #"["RS256","none"]"#)
        )
        try await setup.refuseIDToken(.algorithm("none"), mode, for: "(alg)")
    }

    @Test(arguments: ResponseMode.allCases)
    func test_invalid_sig_rs256(_ mode: ResponseMode) async throws {
        try await TestSetup().refuseIDToken(.brokenSignature, mode, for: "its signature is wrong")
    }

    /// A public client has no secret to verify such a signature with.
    @Test func test_invalid_sig_hs256() async throws {
        let setup = try TestSetup()
        setup.provider.failAlways(
            .discovery,
            with: .changing("id_token_signing_alg_values_supported", to: #"["HS256"]"#)
        )
        try await setup.refuseIDToken(.algorithm("HS256"), for: "(alg)")
    }

    @Test func test_invalid_sig_es256() async throws {
        for isBroken in [false, true] {
            let setup = try TestSetup()
            setup.provider.failAlways(
                .discovery,
                with: .changing("id_token_signing_alg_values_supported", to: #"["ES256"]"#)
            )
            let signer = ES256Signer(base: setup.provider.transport, isBroken: isBroken)
            setup.publish([signer.publicKey])
            guard isBroken else {
                try await setup.completeModule { $0.transport = signer }
                continue
            }
            let error = try await expectError(.invalidIDToken) { try await setup.signedIn { $0.transport = signer } }
            #expect(error.message.contains("its signature is wrong"))
        }
    }

    /// Keys of unknown types precede the right one.
    @Test func test_ignores_unparseable_key_in_jwks() async throws {
        let setup = try TestSetup()
        let unknown = [
            #"{"kty":"AKP","kid":"1","alg":"ML-DSA-1","use":"sig","pub":"AA"}"#,
            #"{"kty":"made-up","kid":"2","use":"sig","x":7}"#,
        ]
        let keys = try unknown.map { try JSONObject(parsing: Array($0.utf8)) }
        setup.publish(keys + (try await setup.publishedKeys()))
        try await setup.completeModule()
        #expect(setup.provider.count(of: .keys) == 1)
    }

    /// With `prompt=none` and `max_age=0`, the provider can only refuse. Its form post contains an error without `iss`.
    @Test func test_form_post_error() async throws {
        let setup = try TestSetup(listensOnLoopback: true)
        setup.browser.redirectFaults = [.changing("iss", to: nil)]
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.responseMode = .formPost
        parameters.prompt = SignInPrompt.none
        parameters.maxAge = .zero
        let application = try setup.application()
        let error = try await expectError(.loginRequired) {
            try await application.acquireTokenInteractively(parameters)
        }
        #expect(error.serverError?.error == "login_required")
        let asked = try #require(setup.provider.requests.first { $0.endpoint == .authorization })
        #expect(asked["prompt"] == "none" && asked["max_age"] == "0" && asked["response_mode"] == "form_post")
        #expect(setup.provider.count(of: .token) == 0)
        #expect(try await setup.browser.finalPage().body.contains("Not signed in"))
    }

    /// For providers that give installed programs a secret.
    @Test(arguments: ResponseMode.allCases)
    func test_client_secret_basic(_ mode: ResponseMode) async throws {
        let setup = try TestSetup(clients: [
            TestIdentityProvider.Client(secret: ClientSecret(rawValue: "not so secret"))
        ])
        setup.provider.failAlways(
            .discovery,
            with: .changing("token_endpoint_auth_methods_supported", to: #"["client_secret_basic"]"#)
        )
        try await setup.completeModule(mode) { $0.clientSecret = ClientSecret(rawValue: "not so secret") }
        let sent = try #require(setup.provider.requests.first { $0.endpoint == .token })
        #expect(sent.header("Authorization") == "Basic dGVzdC1jbGllbnQ6bm90JTIwc28lMjBzZWNyZXQ=")
        #expect(sent["client_secret"] == nil)
    }
}

/// A transport that signs the provider's ID tokens anew, with ES256, and breaks the signature if wanted.
private struct ES256Signer: HTTPTransport {
    let base: any HTTPTransport
    let isBroken: Bool
    private let key = P256.Signing.PrivateKey()

    init(base: any HTTPTransport, isBroken: Bool) {
        self.base = base
        self.isBroken = isBroken
    }

    var publicKey: JSONObject {
        let point = Array(key.publicKey.rawRepresentation)
        return JSONObject([
            ("kty", .string("EC")), ("crv", .string("P-256")), ("alg", .string("ES256")), ("kid", .string("curve")),
            ("x", .string(Base64URL.encode(Array(point.prefix(32))))),
            ("y", .string(Base64URL.encode(Array(point.suffix(32))))),
        ])
    }

    func send(_ request: HTTPRequest, body: [UInt8]?) async throws -> (HTTPResponse, [UInt8]) {
        let (response, bytes) = try await base.send(request, body: body)
        guard request.path == "/token", var answer = try? JSONObject(parsing: bytes),
            let compact = answer.string("id_token")
        else { return (response, bytes) }
        let header = JSONObject([("alg", .string("ES256")), ("kid", .string("curve"))])
        let input = JSONWebToken.signingInput(header: header, claims: try JSONWebToken(compact: compact).claims)
        var signature = Array(try key.signature(for: Array(input.utf8)).rawRepresentation)
        if isBroken { signature[40] ^= 1 }
        answer["id_token"] = .string(JSONWebToken.compact(signingInput: input, signature: signature))
        return (response, answer.serialized())
    }
}

extension JSONObject {
    fileprivate func without(_ name: String) -> JSONObject {
        var copy = self
        copy[name] = nil
        return copy
    }
}
