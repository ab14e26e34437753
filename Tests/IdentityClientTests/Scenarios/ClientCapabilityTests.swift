// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// Entra ID challenges only programs that declare in each request that they can handle it (`xms_cc`).
@Suite(.timeLimit(.minutes(1)))
struct ClientCapabilityTests {
    private static let claims = #"{"access_token":{"xms_cc":{"values":["cp1"]}}}"#

    private func place() throws -> (TestSetup, PublicClientApplication) {
        let setup = try TestSetup(.entra)
        return (setup, try setup.application { $0.clientCapabilities = ["cp1"] })
    }

    private func claims(sentTo endpoints: Set<TestIdentityProvider.Endpoint>, _ setup: TestSetup) -> [String?] {
        setup.provider.requests.filter { endpoints.contains($0.endpoint) }.map { $0["claims"] }
    }

    @Test func areInEachRequestOfASignInAndItsRefresh() async throws {
        let (setup, application) = try place()
        let first = try await application.acquireTokenInteractively(scopes: ["api.read"])
        #expect(claims(sentTo: [.authorization], setup) == [Self.claims])
        #expect(claims(sentTo: [.token], setup) == [Self.claims])
        setup.clock.advance(by: .seconds(3600))
        _ = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(claims(sentTo: [.token], setup) == [Self.claims, Self.claims])
    }

    @Test func areInEachRequestOfASignInElsewhere() async throws {
        let (setup, application) = try place()
        let signIn = Task {
            try await application.acquireTokenWithDeviceCode(DeviceCodeParameters(scopes: ["api.read"])) { prompt in
                setup.provider.approveDevice(userCode: prompt.userCode, as: .alice)
            }
        }
        try await setup.clock.waitForSleepers()
        setup.clock.advance(by: .seconds(5))
        _ = try await signIn.value
        #expect(claims(sentTo: [.deviceAuthorization, .token], setup) == [Self.claims, Self.claims])
    }

    @Test func joinTheClaimsOfAChallenge() async throws {
        let (setup, application) = try place()
        let first = try await application.acquireTokenInteractively(scopes: ["api.read"])
        let challenge = #"{"access_token":{"nbf":{"essential":true,"value":"1604106651"}}}"#
        let parameters = SilentParameters(scopes: ["api.read"], account: first.account, claims: challenge)
        _ = try await application.acquireTokenSilently(parameters)
        let sent = try #require(claims(sentTo: [.token], setup).last ?? nil)
        #expect(sent.contains(#""nbf":{"essential":true,"value":"1604106651"}"#))
        #expect(sent.contains(#""xms_cc":{"values":["cp1"]}"#))
    }
}
