// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ProviderFaultTests {
    private func code(of error: any Error) -> AuthenticationError.Code? { (error as? AuthenticationError)?.code }

    private func signIn(_ provider: TestIdentityProvider) async throws -> (ProviderClient, String) {
        let client = ProviderClient(provider: provider)
        let tokens = try TokenResponse(try await client.redeem(code: client.code()).json)
        return (client, try #require(tokens.refreshToken))
    }

    @Test func actsOnlyWhenTheAnswerIsLostAfterwards() async throws {
        let provider = try TestIdentityProvider.approving()
        let (client, token) = try await signIn(provider)
        provider.failNext(.token, with: .drop, .dropAfterCommit)
        for _ in 0..<2 {
            await #expect { try await client.refresh(token) } throws: { code(of: $0) == .connectionFailed }
        }
        // The second request rotated the token, so this one is a reuse.
        #expect(try await client.refresh(token).status == 400)
        #expect(provider.count(of: .token) == 4)
    }

    @Test func answersAsScriptedAndThenRightAgain() async throws {
        let provider = try TestIdentityProvider.approving { $0.rotatesRefreshTokens = false }
        let (client, token) = try await signIn(provider)
        provider.failNext(
            .token,
            with: .throttled(retryAfter: .seconds(17)),
            .html,
            .emptyBadRequest,
            .refusal("invalid_grant", suberror: "bad_token", status: 200),
            .redirect(to: "https://evil.example/token"),
            .changing("expires_in", to: #""3600""#),
            .changing("token_type", to: #""bearer""#),
            .changing("refresh_token", to: nil),
            .repeating("access_token"),
            .notUTF8
        )
        let throttled = try await client.refresh(token)
        #expect(throttled.status == 429)
        #expect(throttled.headers[.retryAfter] == "17")
        #expect(try await client.refresh(token).text.hasPrefix("<!doctype html>"))
        let empty = try await client.refresh(token)
        #expect(empty.status == 400 && empty.text.isEmpty)
        let refused = try await client.refresh(token)
        #expect(refused.status == 200)
        #expect(try refused.json.string("error") == "invalid_grant")
        #expect(try await client.refresh(token).headers[.location] == "https://evil.example/token")
        #expect(try await client.refresh(token).json["expires_in"] == .string("3600"))
        #expect(try await client.refresh(token).json["token_type"] == .string("bearer"))
        #expect(try await client.refresh(token).json["refresh_token"] == nil)
        let twice = try await client.refresh(token).text
        #expect(throws: JSONError.self) { try JSONObject(parsing: Array(twice.utf8)) }
        _ = try await client.refresh(token)
        #expect(try await client.refresh(token).status == 200)
    }

    @Test func neverHandsOverMoreThanATransportMay() async throws {
        let provider = try TestIdentityProvider()
        let client = ProviderClient(provider: provider)
        provider.failNext(.keys, with: .oversized(), .endless)
        for _ in 0..<2 {
            await #expect { try await client.get("/keys") } throws: { code(of: $0) == .malformedResponse }
        }
    }

    @Test func publishesInsecureEndpointsOrAnotherIssuer() async throws {
        let provider = try TestIdentityProvider()
        let client = ProviderClient(provider: provider)
        provider.failNext(.discovery, with: .insecureEndpoints, .changing("issuer", to: #""https://evil.example""#))
        let insecure = try DiscoveryDocument(try await client.get("/.well-known/openid-configuration").json)
        #expect(insecure.tokenEndpoint == "http://login.example.test/token")
        let other = try DiscoveryDocument(try await client.get("/.well-known/openid-configuration").json)
        #expect(other.issuer == "https://evil.example")
    }

    @Test func waitsForTheClockAndForTheGate() async throws {
        let clock = ManualClock()
        let provider = try TestIdentityProvider(clock: clock)
        let client = ProviderClient(provider: provider)
        let gate = TestGate()
        provider.failNext(.keys, with: .delay(.seconds(5)), .held(by: gate, then: .emptyBadRequest))

        async let late = client.get("/keys")
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(5))
        #expect(try await late.status == 200)

        async let held = client.get("/keys")
        try await provider.waitForRequest(.keys, count: 2)
        gate.open()
        #expect(try await held.status == 400)
    }

    @Test func endsWithTheTaskThatAsks() async throws {
        let provider = try TestIdentityProvider()
        provider.failNext(.keys, with: .held(by: TestGate()))
        let client = ProviderClient(provider: provider)
        let task = Task { try await client.get("/keys") }
        try await provider.waitForRequest(.keys)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func forgesIDTokens() async throws {
        let provider = try TestIdentityProvider.approving()
        let client = ProviderClient(provider: provider)
        let keys = try JSONWebKeySet(try await client.get("/keys").json)
        func forged(_ tampering: IDTokenTampering) async throws -> JSONWebToken {
            provider.tamperNextIDToken(with: tampering)
            let tokens = try TokenResponse(try await client.redeem(code: client.code()).json)
            return try JSONWebToken(compact: try #require(tokens.idToken))
        }
        for tampering in [IDTokenTampering.brokenSignature, .unpublishedKey] {
            let token = try await forged(tampering)
            #expect(throws: SignatureError.badSignature) { try keys.verify(token) }
        }
        for algorithm in ["none", "HS256"] {
            let token = try await forged(.algorithm(algorithm))
            #expect(throws: SignatureError.algorithmNotAllowed) { try keys.verify(token) }
        }
        let unknown = try await forged(.keyID("other"))
        #expect(throws: SignatureError.unknownKey) { try keys.verify(unknown) }
        #expect(try await forged(.issuer("https://evil.example")).claims.string("iss") == "https://evil.example")
        #expect(try await forged(.nonce(nil)).claims["nonce"] == nil)
        #expect(try await forged(.audience(["a", "test-client"])).claims.strings("aud") == ["a", "test-client"])
        let token = try await forged(.claim("nothing", nil))
        #expect(try keys.verify(token) == .rs256)
    }

    @Test func recordsRequestsWithoutShowingSecrets() async throws {
        let provider = try TestIdentityProvider.approving()
        let (_, token) = try await signIn(provider)
        let request = try #require(provider.requests.last)
        #expect(request.endpoint == .token)
        #expect(request["grant_type"] == "authorization_code")
        #expect(request.header("content-type") == "application/x-www-form-urlencoded")
        let verifier = try #require(request["code_verifier"])
        var dumped = ""
        dump(provider.requests, to: &dumped)
        #expect(!dumped.contains(verifier) && !dumped.contains(token))
        #expect(dumped.contains("code_verifier"))
        provider.forgetRequests()
        #expect(provider.count(of: .token) == 0)
    }
}
