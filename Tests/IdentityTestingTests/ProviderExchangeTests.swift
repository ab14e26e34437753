// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTesting
import OAuthWire
import Testing

/// The token exchange of the provider (RFC 8693), with plain requests.
@Suite(.timeLimit(.minutes(1)))
struct ProviderExchangeTests {
    private let clock: ManualClock
    private let provider: TestIdentityProvider
    private let client: ProviderClient

    init() throws {
        clock = ManualClock()
        provider = try .approving(clock: clock) { $0.exchangeTargets = ["billing", "https://api.example.test"] }
        client = ProviderClient(provider: provider)
    }

    private static let type = "urn:ietf:params:oauth:token-type:"

    private func exchange(_ token: String, _ type: String = "access_token", _ more: [(String, String)] = [])
        async throws
        -> ProviderClient.Answer
    {
        let form = TokenRequestMessage.tokenExchange(clientID: "test-client", subject: (token, Self.type + type))
        return try await client.post("/token", form + more)
    }

    private func signIn() async throws -> TokenResponse {
        try TokenResponse(try await client.redeem(code: client.code()).json)
    }

    @Test func exchangesItsOwnTokens() async throws {
        let tokens = try await signIn()
        let (access, id) = (try #require(tokens.accessToken), try #require(tokens.idToken))
        let targets = [("audience", "billing"), ("resource", "https://api.example.test"), ("audience", "billing")]
        for (token, type) in [(access, "access_token"), (id, "id_token"), (id, "jwt")] {
            let answer = try await exchange(token, type, targets).json
            #expect(answer.string("issued_token_type") == Self.type + "access_token")
            #expect(
                answer.string("token_type") == "Bearer" && answer["refresh_token"] == nil && answer["id_token"] == nil
            )
            // The new token is a good one.
            let again = try await exchange(try #require(answer.string("access_token")))
            #expect(again.status == 200)
        }
        let wish = [("requested_token_type", Self.type + "id_token"), ("audience", "billing")]
        let answer = try await exchange(access, "access_token", wish).json
        #expect(answer.string("token_type") == "N_A" && answer.string("issued_token_type") == Self.type + "id_token")
        let claims = try JSONWebToken(compact: try #require(answer.string("access_token"))).claims
        #expect(claims.string("aud") == "billing" && claims.string("sub") == "subject-alice")
        // That one is not for this client.
        #expect(try await exchange(try #require(answer.string("access_token")), "id_token").status == 400)
    }

    @Test func refusesWhatItCannotExchange() async throws {
        let tokens = try await signIn()
        let (access, id) = (try #require(tokens.accessToken), try #require(tokens.idToken))
        func error(_ answer: ProviderClient.Answer) throws -> String? { try answer.json.string("error") }
        for (token, type) in [
            ("unknown", "access_token"), (access, "id_token"), (access, "refresh_token"), (id, "access_token"),
            (id, "saml2"), (id + "x", "id_token"), (try #require(tokens.refreshToken), "refresh_token"),
        ] {
            #expect(try error(await exchange(token, type)) == "invalid_request", "\(type)")
        }
        for (more, word) in [
            ([("actor_token", access)], "invalid_request"),
            ([("actor_token_type", Self.type + "access_token")], "invalid_request"),
            ([("actor_token", "x"), ("actor_token_type", Self.type + "access_token")], "invalid_request"),
            ([("requested_token_type", Self.type + "saml1")], "invalid_request"),
            ([("subject_token", access)], "invalid_request"),
            ([("audience", "unknown")], "invalid_target"), ([("resource", "billing")], "invalid_target"),
        ] {
            #expect(try error(await exchange(access, "access_token", more)) == word, "\(more.map(\.0))")
        }
        let missing = [("client_id", "test-client"), ("grant_type", GrantType.tokenExchange.rawValue)]
        #expect(try error(await client.post("/token", missing)) == "invalid_request")
        clock.advance(by: .seconds(3600))
        #expect(try error(await exchange(access)) == "invalid_request")
        #expect(try error(await exchange(id, "id_token")) == "invalid_request")
    }

    @Test func refusesTokensOfARevokedSignIn() async throws {
        let tokens = try await signIn()
        provider.revokeSessions(of: .alice)
        #expect(try await exchange(try #require(tokens.accessToken)).status == 400)
    }

    @Test(arguments: [TestIdentityProvider.Profile.openIDConnect, .entra, .b2c, .adfs])
    func offersItOnlyWhereItIsSaid(_ profile: TestIdentityProvider.Profile) {
        #expect(TestIdentityProvider.Settings(profile).exchangesTokens == (profile == .openIDConnect))
    }
}
