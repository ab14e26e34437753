// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTesting
import OAuthWire
import Testing

@Suite(.timeLimit(.minutes(1)))
struct RefreshGrantTests {
    private func signIn(
        _ provider: TestIdentityProvider,
        _ changes: [String: String?] = [:]
    ) async throws -> (ProviderClient, String) {
        let client = ProviderClient(provider: provider)
        let tokens = try TokenResponse(try await client.redeem(code: client.code(changes)).json)
        return (client, try #require(tokens.refreshToken))
    }

    private func error(_ answer: ProviderClient.Answer) throws -> String? { try answer.json.string("error") }

    @Test func rotatesTheRefreshToken() async throws {
        let (client, first) = try await signIn(.approving())
        let tokens = try TokenResponse(try await client.refresh(first).json)
        let second = try #require(tokens.refreshToken)
        #expect(second != first)
        #expect(try await client.refresh(second).status == 200)
    }

    @Test func revokesTheFamilyWhenAnOldTokenComesAgain() async throws {
        let (client, first) = try await signIn(.approving())
        let second = try #require(try TokenResponse(try await client.refresh(first).json).refreshToken)
        #expect(try error(await client.refresh(first)) == "invalid_grant")
        #expect(try error(await client.refresh(second)) == "invalid_grant")
    }

    @Test func answersTheSameAgainWithinTheGracePeriod() async throws {
        let clock = ManualClock()
        let provider = try TestIdentityProvider.approving(clock: clock) { $0.reuseGracePeriod = .seconds(30) }
        let (client, first) = try await signIn(provider)
        let second = try #require(try TokenResponse(try await client.refresh(first).json).refreshToken)
        clock.advance(by: .seconds(20))
        let again = try TokenResponse(try await client.refresh(first).json)
        #expect(again.refreshToken == second)
        clock.advance(by: .seconds(20))
        #expect(try error(await client.refresh(first)) == "invalid_grant")
        #expect(try error(await client.refresh(second)) == "invalid_grant")
    }

    @Test func keepsTheTokenWithoutRotation() async throws {
        let (client, token) = try await signIn(.approving { $0.rotatesRefreshTokens = false })
        for _ in 0..<2 {
            let tokens = try TokenResponse(try await client.refresh(token).json)
            #expect(tokens.refreshToken == nil)
        }
    }

    @Test func narrowsScopesAndNeverWidensThem() async throws {
        let (client, token) = try await signIn(.approving { $0.rotatesRefreshTokens = false })
        let narrowed = try TokenResponse(try await client.refresh(token, scopes: ["openid"]).json)
        #expect(narrowed.scopes == ["openid"])
        #expect(try error(await client.refresh(token, scopes: ["openid", "write"])) == "invalid_scope")
    }

    @Test func refusesAfterItsLifetime() async throws {
        let clock = ManualClock()
        let (client, token) = try await signIn(.approving(clock: clock) { $0.refreshTokenLifetime = .seconds(60) })
        clock.advance(by: .seconds(61))
        #expect(try error(await client.refresh(token)) == "invalid_grant")
    }

    @Test func leavesOutTheNonceAndOnRequestTheIDToken() async throws {
        let provider = try TestIdentityProvider.approving { $0.rotatesRefreshTokens = false }
        let (client, token) = try await signIn(provider)
        let idToken = try #require(try TokenResponse(try await client.refresh(token).json).idToken)
        #expect(try JSONWebToken(compact: idToken).claims["nonce"] == nil)
        provider.settings.issuesIDTokenOnRefresh = false
        #expect(try TokenResponse(try await client.refresh(token).json).idToken == nil)
    }

    @Test func refusesAfterRevocation() async throws {
        let provider = try TestIdentityProvider.approving()
        let (client, token) = try await signIn(provider)
        let answer = try await client.post(
            "/revoke",
            RevocationRequestMessage.items(clientID: "test-client", token: token)
        )
        #expect(answer.status == 200)
        #expect(try error(await client.refresh(token)) == "invalid_grant")
    }

    @Test func saysInEntrasWordsWhyAPersonIsNeeded() async throws {
        let cases: [((TestIdentityProvider) -> Void, Int, String)] = [
            ({ $0.requireSecondFactor(of: .alice) }, 50_076, "basic_action"),
            ({ $0.revokeSessions(of: .alice) }, 50_173, "bad_token"),
            ({ $0.expirePassword(of: .alice) }, 50_055, "user_password_expired"),
            ({ $0.deleteAccount(of: .alice) }, 50_034, "user_account_deleted"),
        ]
        for (act, number, suberror) in cases {
            let provider = try TestIdentityProvider.approving(.entra)
            var client = ProviderClient(provider: provider, base: "https://login.microsoftonline.com")
            client.authorizePath = "/common/oauth2/v2.0/authorize"
            client.tokenPath = "/common/oauth2/v2.0/token"
            let tokens = try TokenResponse(try await client.redeem(code: client.code()).json)
            act(provider)
            let answer = try await client.refresh(try #require(tokens.refreshToken))
            #expect(answer.status == 400)
            let refusal = try #require(ErrorResponse(try answer.json))
            #expect(refusal.error == "invalid_grant")
            #expect(refusal.suberror == suberror)
            #expect(refusal.errorCodes == [number])
            #expect(refusal.errorDescription?.hasPrefix("AADSTS\(number): ") == true)
            #expect(refusal.traceID != nil && refusal.correlationID != nil && refusal.timestamp != nil)
            #expect((refusal.claims != nil) == (number == 50_076))
        }
    }
}
