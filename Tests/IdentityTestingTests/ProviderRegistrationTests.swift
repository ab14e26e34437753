// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient
import IdentityTesting
import OAuthWire
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ProviderRegistrationTests {
    /// RFC 8252 §7.3: any port of the loopback interface matches; any other difference does not.
    @Test(arguments: [
        ("http://127.0.0.1/callback", true), ("http://127.0.0.1:9/callback", true),
        ("http://127.0.0.1:9/other", false), ("http://127.0.0.1:9/callback?x=1", false),
        ("http://localhost:9/callback", false), ("https://127.0.0.1/callback", false),
        ("com.example.app:/callback", true), ("com.example.app:/other", false),
    ])
    func comparesRedirectURIsButForTheLoopbackPort(_ redirectURI: String, _ isAllowed: Bool) async throws {
        let provider = try TestIdentityProvider.approving()
        let registered = ["http://127.0.0.1/callback", "com.example.app:/callback"]
        provider.add(TestIdentityProvider.Client(redirectURIs: registered))
        let answer = try await ProviderClient(provider: provider).authorize(["redirect_uri": redirectURI])
        #expect(answer.status == (isAllowed ? 303 : 400))
        #expect(answer.headers[.location]?.hasPrefix(redirectURI + "?") == (isAllowed ? true : nil))
    }

    /// RFC 6749 §2.3: a client authenticates by one method in each request.
    @Test(
        arguments: [
            ("test-client:a%20b%3A", [], 400, "unsupported_grant_type"),
            ("test-client:a+b%3A", [("client_id", "test-client")], 400, "unsupported_grant_type"),
            ("test-client:a b", [], 401, "invalid_client"),
            ("test-client:a%20b%3A", [("client_id", "other")], 401, "invalid_client"),
            ("test-client:a%20b%3A", [("client_secret", "a b:")], 400, "invalid_request"),
            ("test-client", [("client_id", "test-client")], 401, "invalid_client"),
            (nil, [("client_id", "test-client"), ("client_secret", "a b:")], 400, "unsupported_grant_type"),
        ] as [(String?, [(String, String)], Int, String)]
    )
    func takesAClientsSecretInEitherPlace(
        _ basic: String?,
        _ form: [(String, String)],
        _ status: Int,
        _ error: String
    ) async throws {
        let provider = try TestIdentityProvider(clients: [
            TestIdentityProvider.Client(secret: ClientSecret(rawValue: "a b:"))
        ])
        let header = basic.map { "Basic " + Data($0.utf8).base64EncodedString() }
        let answer = try await ProviderClient(provider: provider).post("/token", form, authorization: header)
        #expect(try (answer.status, answer.json.string("error")) == (status, error))
    }

    @Test func signsInPeopleWhoWereAddedLater() async throws {
        let provider = try TestIdentityProvider()
        var carol = TestIdentityProvider.Person.alice
        carol.username = "carol@example.test"
        carol.subject = "subject-carol"
        provider.add(carol)
        provider.settings.autoApproves = true
        let client = ProviderClient(provider: provider)
        let code = try await client.code(["login_hint": "Carol@example.test"])
        let tokens = try TokenResponse(try await client.redeem(code: code).json)
        #expect(try JSONWebToken(compact: try #require(tokens.idToken)).claims.string("sub") == "subject-carol")
    }

    @Test func saysWhenToFetchANewToken() async throws {
        let provider = try TestIdentityProvider.approving { settings in
            settings.accessTokenLifetime = .seconds(120)
            settings.refreshIn = .seconds(30)
        }
        let client = ProviderClient(provider: provider)
        let tokens = try TokenResponse(try await client.redeem(code: client.code()).json)
        #expect(tokens.expiresIn == 120)
        #expect(tokens.refreshIn == 30)
    }

    @Test func playsAMachineWithoutNetwork() async throws {
        let provider = try TestIdentityProvider()
        let transport = RecordingTransport(provider.transport)
        let request = HTTPRequest(method: .get, scheme: "https", authority: "login.example.test", path: "/keys")
        transport.isOffline = true
        await #expect { try await transport.send(request, body: nil) } throws: { error in
            (error as? AuthenticationError)?.code == .connectionFailed
        }
        #expect(provider.requests.isEmpty)
        transport.isOffline = false
        #expect(try await transport.send(request, body: nil).0.status == .ok)
        #expect(transport.count == 2)
    }
}
