// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient
import IdentityTesting
import OAuthWire
import Testing

/// RFC 9126, the provider's side.
@Suite(.timeLimit(.minutes(1)))
struct ProviderPushTests {
    let clock = ManualClock()

    private func client(
        _ requests: TestIdentityProvider.PushedAuthorizationRequests = .offered
    ) throws -> ProviderClient {
        var settings = TestIdentityProvider.Settings()
        settings.autoApproves = true
        settings.pushedAuthorizationRequests = requests
        let clients = [TestIdentityProvider.Client(), TestIdentityProvider.Client(id: "another-client")]
        return ProviderClient(provider: try TestIdentityProvider(clock: clock, clients: clients, settings: settings))
    }

    private func push(_ client: ProviderClient, _ changes: [String: String?] = [:]) async throws
        -> ProviderClient.Answer
    {
        try await client.post("/par", client.authorizationItems(changes))
    }

    private func visit(
        _ client: ProviderClient,
        _ requestURI: String,
        _ more: [(String, String)] = [("client_id", "test-client")]
    ) async throws -> ProviderClient.Answer {
        try await client.get(FormURLEncoded.appending(more + [("request_uri", requestURI)], to: "/authorize"))
    }

    @Test(
        arguments: [
            (TestIdentityProvider.PushedAuthorizationRequests.unavailable, nil, nil),
            (.offered, "https://login.example.test/par", false), (.required, "https://login.example.test/par", true),
        ] as [(TestIdentityProvider.PushedAuthorizationRequests, String?, Bool?)]
    )
    func publishesWhatItTakes(
        _ requests: TestIdentityProvider.PushedAuthorizationRequests,
        endpoint: String?,
        isRequired: Bool?
    ) async throws {
        let json = try await client(requests).get("/.well-known/openid-configuration").json
        #expect(json.string("pushed_authorization_request_endpoint") == endpoint)
        #expect(json.bool("require_pushed_authorization_requests") == isRequired)
        #expect(try await push(try client(requests)).status == (endpoint == nil ? 404 : 201))
    }

    @Test func takesTheReferenceOnceAndNothingThatComesBesideIt() async throws {
        let client = try client()
        let answer = try await push(client)
        #expect(answer.headers[.cacheControl] == "no-store")
        let pushed = try PushedAuthorizationResponse(try answer.json)
        #expect(pushed.requestURI.hasPrefix("urn:ietf:params:oauth:request_uri:") && pushed.expiresIn == 90)

        let more = [("client_id", "test-client"), ("state", "another"), ("scope", "everything")]
        let redirect = try await visit(client, pushed.requestURI, more).redirect
        #expect(redirect["state"] == "the-state")
        let tokens = try TokenResponse(try await client.redeem(code: try #require(redirect["code"])).json)
        #expect(tokens.scopes == ["openid", "profile", "offline_access"])
        let again = try await visit(client, pushed.requestURI)
        #expect(again.status == 400 && again.headers[.location] == nil)
    }

    @Test func bindsTheReferenceToItsClientAndItsTime() async throws {
        let client = try client()
        let pushed = try PushedAuthorizationResponse(try await push(client).json)
        #expect(try await visit(client, pushed.requestURI, [("client_id", "another-client")]).status == 400)
        #expect(try await visit(client, pushed.requestURI, []).status == 400)
        #expect(try await visit(client, pushed.requestURI + "x").status == 400)
        #expect(try await visit(client, pushed.requestURI).redirect["code"] != nil)

        let late = try PushedAuthorizationResponse(try await push(client).json)
        clock.advance(by: .seconds(90))
        #expect(try await visit(client, late.requestURI).status == 400)
    }

    @Test(arguments: [
        (["client_id": "nobody"], 401, "invalid_client"), (["client_id": nil], 401, "invalid_client"),
        (["redirect_uri": "https://evil.example/callback"], 400, "invalid_request"),
        (["code_challenge": nil], 400, "invalid_request"),
        (["response_type": "token"], 400, "unsupported_response_type"),
        (["request_uri": "urn:x"], 400, "request_not_supported"),
    ])
    func refusesWhatABrowserCouldNotBringEither(_ changes: [String: String?], status: Int, error: String) async throws {
        let answer = try await push(try client(), changes)
        #expect(answer.status == status)
        #expect(try answer.json.string("error") == error)
    }

    @Test func takesNoOtherRequestsWhereTheyMustBePushed() async throws {
        let client = try client(.required)
        let plain = try await client.authorize()
        #expect(plain.status == 400 && plain.headers[.location] == nil)
        let pushed = try PushedAuthorizationResponse(try await push(client).json)
        #expect(try await visit(client, pushed.requestURI).redirect["code"] != nil)
        #expect(try await self.client(.offered).authorize().redirect["code"] != nil)
    }

    /// The same over sockets, with the library's own server and transport.
    @Test func takesThemOverSockets() async throws {
        var settings = TestIdentityProvider.Settings()
        settings.pushedAuthorizationRequests = .required
        let provider = try TestIdentityProvider(settings: settings)
        var configuration = ClientConfiguration(
            clientID: "test-client",
            authority: try provider.listen(),
            cache: InMemoryTokenCache()
        )
        defer { provider.close() }
        configuration.browser = ScriptedBrowser(provider: nil)
        let application = try PublicClientApplication(configuration)
        let result = try await application.acquireTokenInteractively(scopes: ["api.read"])
        #expect(provider.accepts(accessToken: result.accessToken))
        #expect(provider.count(of: .pushedAuthorization) == 1)
    }
}
