// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient
import IdentityTesting
import OAuthWire
import Testing

@Suite(.timeLimit(.minutes(1)))
struct AuthorizationCodeGrantTests {
    private func error(_ answer: ProviderClient.Answer) throws -> String? { try answer.json.string("error") }

    @Test func givesTokensForACodeAndItsVerifier() async throws {
        let client = ProviderClient(provider: try .approving())
        let redirect = try await client.authorize().redirect
        #expect(redirect["state"] == "the-state")
        #expect(redirect["iss"] == "https://login.example.test")

        let answer = try await client.redeem(code: try #require(redirect["code"]))
        #expect(answer.status == 200)
        let tokens = try TokenResponse(try answer.json)
        #expect(tokens.tokenType == "Bearer")
        #expect(tokens.expiresIn == 3600)
        #expect(tokens.scopes == ["openid", "profile", "offline_access"])
        #expect(tokens.refreshToken != nil)
        #expect(tokens.clientInfo == nil)
    }

    @Test func signsAnIDTokenThatThePublishedKeysVerify() async throws {
        let clock = ManualClock()
        let provider = try TestIdentityProvider.approving(clock: clock)
        let client = ProviderClient(provider: provider)
        let answer = try TokenResponse(try await client.redeem(code: client.code()).json)

        let token = try JSONWebToken(compact: try #require(answer.idToken))
        let keys = try JSONWebKeySet(try await client.get("/keys").json)
        #expect(try keys.verify(token) == .rs256)
        let claims = try IDTokenClaims(token.claims)
        var expectation = IDTokenExpectation(
            authority: provider.authority,
            publishedIssuer: "https://login.example.test",
            clientID: "test-client"
        )
        expectation.nonce = "the-nonce"
        expectation.accessToken = answer.accessToken
        expectation.maxAge = 0
        try expectation.check(claims, algorithm: .rs256, at: Int64(clock.now.timeIntervalSince1970))
        #expect(claims.atHash != nil)
        #expect(claims.subject == "subject-alice")
        #expect(claims.preferredUsername == "alice@example.test")
    }

    @Test func refusesAnotherVerifierAndSpendsTheCode() async throws {
        let client = ProviderClient(provider: try .approving())
        let code = try await client.code()
        let wrong = try await client.redeem(code: code, verifier: ProofKey().verifier)
        #expect(wrong.status == 400)
        #expect(try error(wrong) == "invalid_grant")
        #expect(try error(await client.redeem(code: code)) == "invalid_grant")
    }

    @Test func refusesAnotherRedirectURI() async throws {
        let client = ProviderClient(provider: try .approving())
        let answer = try await client.redeem(code: client.code(), redirectURI: "http://127.0.0.1:50124/callback")
        #expect(try error(answer) == "invalid_grant")
    }

    /// RFC 6749 §4.1.2
    @Test func revokesWhatCameOfACodeThatIsRedeemedTwice() async throws {
        let client = ProviderClient(provider: try .approving())
        let code = try await client.code()
        let tokens = try TokenResponse(try await client.redeem(code: code).json)
        #expect(try error(await client.redeem(code: code)) == "invalid_grant")
        #expect(try error(await client.refresh(try #require(tokens.refreshToken))) == "invalid_grant")
    }

    @Test func refusesACodeThatIsTooOld() async throws {
        let clock = ManualClock()
        let client = ProviderClient(provider: try .approving(clock: clock))
        let code = try await client.code()
        clock.advance(by: .seconds(61))
        #expect(try error(await client.redeem(code: code)) == "invalid_grant")
    }

    @Test(arguments: [
        ["redirect_uri": "https://evil.example/callback"], ["client_id": "another-client"], ["redirect_uri": nil],
    ])
    func neverRedirectsToWhereItMustNot(_ changes: [String: String?]) async throws {
        let client = ProviderClient(provider: try .approving())
        let answer = try await client.authorize(changes)
        #expect(answer.status == 400)
        #expect(answer.headers[.location] == nil)
    }

    @Test(arguments: [
        (["response_type": "token"], "unsupported_response_type"), (["code_challenge": nil], "invalid_request"),
        (["code_challenge_method": "plain"], "invalid_request"), (["prompt": "none login"], "invalid_request"),
        (["response_mode": "fragment"], "invalid_request"), (["prompt": "none"], "login_required"),
    ])
    func sendsTheBrowserBackWithAnError(_ changes: [String: String?], _ code: String) async throws {
        let redirect = try await ProviderClient(provider: try .approving()).authorize(changes).redirect
        #expect(redirect["error"] == code)
        #expect(redirect["state"] == "the-state")
        #expect(redirect["iss"] == "https://login.example.test")
        #expect(redirect["code"] == nil)
    }

    @Test func knowsScopesAndLeavesOutDeclinedOnes() async throws {
        let provider = try TestIdentityProvider.approving { settings in
            settings.knownScopes = ["read", "write"]
            settings.declinedScopes = ["write"]
        }
        let client = ProviderClient(provider: provider)
        #expect(try await client.authorize(["scope": "openid other"]).redirect["error"] == "invalid_scope")
        let tokens = try TokenResponse(try await client.redeem(code: client.code(["scope": "openid read write"])).json)
        #expect(tokens.scopes == ["openid", "read"])
        #expect(tokens.refreshToken == nil)
    }

    @Test func postsTheAnswerFromAFormWhenAsked() async throws {
        let client = ProviderClient(provider: try .approving())
        let page = try await client.authorize(["response_mode": "form_post", "state": #""><script>"#])
        #expect(page.status == 200)
        #expect(page.headers[.location] == nil)
        #expect(page.text.contains(#"action="http://127.0.0.1:50123/callback""#))
        #expect(page.text.contains(#"name="state" value="&quot;&gt;&lt;script&gt;""#))
    }
}
