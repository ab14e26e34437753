// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTesting
import OAuthWire
import Testing

/// RFC 8628 §3
@Suite(.timeLimit(.minutes(1)))
struct ProviderDeviceTests {
    let clock = ManualClock()
    let provider: TestIdentityProvider
    let client: ProviderClient

    init() throws {
        provider = try TestIdentityProvider(clock: clock)
        client = ProviderClient(provider: provider)
    }

    private func start(codeChallenge: String? = nil) async throws -> DeviceAuthorizationResponse {
        let items = DeviceAuthorizationRequestMessage.items(
            clientID: "test-client",
            scopes: ["openid", "offline_access"],
            codeChallenge: codeChallenge
        )
        return try DeviceAuthorizationResponse(try await client.post("/device_authorization", items).json)
    }

    private func poll(_ device: DeviceAuthorizationResponse, verifier: String? = nil) async throws -> JSONObject {
        let items = TokenRequestMessage.deviceCode(
            clientID: "test-client",
            deviceCode: device.deviceCode,
            codeVerifier: verifier
        )
        return try await client.post("/token", items).json
    }

    @Test func givesTokensWhenThePersonAgreed() async throws {
        let device = try await start()
        #expect(device.verificationURIComplete == "\(device.verificationURI)?user_code=\(device.userCode)")
        #expect(try await poll(device).string("error") == "authorization_pending")
        clock.advance(by: .seconds(5))

        let browser = ScriptedBrowser(provider: provider)
        let page = try await browser.visit(
            #require(device.verificationURIComplete.flatMap { URL(string: $0) })
        )
        #expect(page.body.contains("You can go back to your device."))
        let tokens = try TokenResponse(try await poll(device))
        #expect(tokens.refreshToken != nil)
        #expect(try await poll(device).string("error") == "invalid_grant")
    }

    /// RFC 7636 §4.6, as Keycloak does it for devices
    @Test func givesTokensToWhoAskedForTheCodeOnly() async throws {
        let key = ProofKey()
        let device = try await start(codeChallenge: key.challenge)
        #expect(provider.approveDevice(userCode: device.userCode, as: .alice))
        for verifier in [nil, ProofKey().verifier, "short"] {
            #expect(try await poll(device, verifier: verifier).string("error") == "invalid_grant")
        }
        #expect(try TokenResponse(try await poll(device, verifier: key.verifier)).refreshToken != nil)
    }

    @Test(arguments: [("plain", ProofKey().challenge), ("", ProofKey().challenge), ("S256", "short")])
    func refusesAChallengeOfAnotherMethod(_ method: String, _ challenge: String) async throws {
        let items = [("client_id", "test-client"), ("code_challenge", challenge), ("code_challenge_method", method)]
        let answer = try await client.post("/device_authorization", items).json
        #expect(answer.string("error") == "invalid_request")
    }

    @Test func slowsDownWhoAsksTooOften() async throws {
        let device = try await start()
        #expect(try await poll(device).string("error") == "authorization_pending")
        clock.advance(by: .seconds(4))
        #expect(try await poll(device).string("error") == "slow_down")
        clock.advance(by: .seconds(6))
        #expect(try await poll(device).string("error") == "slow_down")
        clock.advance(by: .seconds(20))
        #expect(try await poll(device).string("error") == "authorization_pending")
    }

    @Test func tellsRefusalFromExpiry() async throws {
        let refused = try await start()
        #expect(provider.denyDevice(userCode: refused.userCode.lowercased()))
        #expect(try await poll(refused).string("error") == "access_denied")

        let late = try await start()
        clock.advance(by: .seconds(901))
        #expect(!provider.approveDevice(userCode: late.userCode, as: .alice))
        #expect(try await poll(late).string("error") == "expired_token")
    }
}
