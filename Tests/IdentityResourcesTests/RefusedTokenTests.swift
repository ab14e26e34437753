// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityClient
import IdentityResources
import IdentityTestSupport
import IdentityTesting
import LoopbackHTTP
import OAuthWire
import Testing

/// The client's reaction when a resource refuses the token.
@Suite(.timeLimit(.minutes(1)))
struct RefusedTokenTests {
    private static let claims = #"{"access_token":{"acrs":{"essential":true,"value":"c1"}}}"#
    private static let challenge =
        "Bearer realm=\"\", error=\"insufficient_claims\", claims=\"\(Base64URL.encode(Array(claims.utf8)))\""

    /// Refuses `token` and accepts any other.
    private func server(refusing token: String, with challenge: String) throws -> ResourceServer {
        try ResourceServer { request in
            guard let given = request.headers["Authorization"], given != token else { return .unauthorized(challenge) }
            return LoopbackResponse(status: 200, text: "welcome")
        }
    }

    @Test func sendsTheAccountsTokenAndNoOther() async throws {
        let setup = try TestSetup()
        let (client, token) = try await setup.resourceClient()
        let server = try ResourceServer(answering: "hello")
        let request = HTTPRequest(.get, to: try server.url("/me?x=1"), headerFields: [.authorization: "Basic mine"])
        let (response, body) = try await client.send(request)
        #expect(response.status == .ok && text(body) == "hello")
        #expect(server.authorizations == [token] && server.requests[0].target == "/me?x=1")
        #expect(setup.provider.count(of: .token) == 1)
    }

    /// A client that signs in by itself, for an API that answers as `status` and `challenge` say.
    private func signingIn(
        _ status: Int,
        _ challenge: String,
        believesClaimedScopes: Bool = true
    ) async throws -> (AuthenticatedClient, ResourceServer, Shared<[AuthenticationError]>) {
        let (application, result) = try await TestSetup().signedIn()
        let server = try ResourceServer { _ in
            var response = LoopbackResponse.unauthorized(challenge)
            response.status = status
            return response
        }
        let signIns = Shared<[AuthenticationError]>([])
        let client = AuthenticatedClient(
            application: application,
            account: result.account,
            scopes: ["api.read"],
            transport: CurlTransport(),
            timeout: .seconds(60),
            signIn: { error in signIns.withLock { $0.append(error) } },
            believesClaimedScopes: believesClaimedScopes,
            onWait: nil
        )
        return (client, server, signIns)
    }

    /// One sign-in is enough to see that the API takes no token.
    @Test(arguments: [(ResourceCall.SignIns.always, 1), (.exceptAfterRefusal, 0), (.never, 0)])
    func signsInAfterARefusalOnceAndWhereItMay(_ allowed: ResourceCall.SignIns, _ count: Int) async throws {
        let (client, server, signIns) = try await signingIn(401, "Bearer error=\"invalid_token\"")
        let request = HTTPRequest(.get, to: try server.url())
        let answer = try await client.stream(request, body: nil, signingIn: allowed)
        #expect(answer.response.status == .unauthorized)
        #expect(signIns.value.count == count && signIns.value.allSatisfy(\.isOfRefusedToken))
    }

    /// A server need not say which scopes it gave, and the token then claims all.
    @Test(arguments: [(true, 0), (false, 3)])
    func signsInForScopesThatATokenClaims(_ believes: Bool, _ count: Int) async throws {
        let challenge = #"Bearer error="insufficient_scope", scope="api.read""#
        let (client, server, signIns) = try await signingIn(403, challenge, believesClaimedScopes: believes)
        if believes {
            #expect(try await client.get(server.url()).response.status == .forbidden)
        } else {
            let error = try await expectError(.insufficientScope) { try await client.get(server.url()) }
            #expect(error.message.contains("lacks: api.read.") && !error.isOfRefusedToken)
        }
        #expect(signIns.value.count == count)
    }

    @Test func renewsARefusedTokenOnceAndRepeatsTheRequest() async throws {
        let setup = try TestSetup()
        let (client, token) = try await setup.resourceClient()
        let server = try server(refusing: token, with: "Bearer error=\"invalid_token\"")
        let request = HTTPRequest(.post, to: try server.url("/notes"))
        let (response, body) = try await client.send(request, body: .json(Array("{\"a\":1}".utf8)))
        #expect(response.status == .ok && text(body) == "welcome")
        #expect(server.requests.map { text($0.body) } == ["{\"a\":1}", "{\"a\":1}"])
        #expect(server.requests[1].headers["Content-Type"] == "application/json")
        #expect(setup.provider.count(of: .token) == 2)
    }

    @Test func keepsTheConnectionWhenATokenIsRefused() async throws {
        let setup = try TestSetup()
        let (client, token) = try await setup.resourceClient()
        let server = try ScriptedServer { request in
            let isRefused = request.values("Authorization") == [token]
            let status = isRefused ? "401 Unauthorized" : "200 OK"
            return [.send(Array("HTTP/1.1 \(status)\r\nContent-Length: 4\r\n\r\nbody".utf8))]
        }
        defer { server.close() }
        let (response, body) = try await client.send(.get(server))
        #expect(response.status == .ok && text(body) == "body")
        #expect(server.requests.count == 2 && server.connections == 1)
    }

    /// Otherwise a program that asks the application directly gets the refused token until its end, and opens no browser.
    @Test func handsNoTokenOutWhoseRenewalWasRefusedToo() async throws {
        let setup = try TestSetup()
        let (client, token) = try await setup.resourceClient()
        let server = try server(refusing: token, with: "Bearer error=\"invalid_token\"")
        let other = try setup.application()
        let account = try #require(try await other.allAccounts().first)
        let before = try await other.acquireTokenSilently(scopes: ["api.read"], account: account)
        #expect(before.authorizationHeader == token)
        setup.provider.revokeSessions(of: .alice)
        await #expect { try await client.get(server.url()) } throws: { .interactionRequired ~= $0 }
        await #expect {
            try await other.acquireTokenSilently(scopes: ["api.read"], account: account)
        } throws: {
            .interactionRequired ~= $0
        }
        let again = try await other.acquireTokenSilentlyOrInteractively(scopes: ["api.read"])
        #expect(again.authorizationHeader != token && setup.provider.count(of: .authorization) == 2)
    }

    @Test func givesBackASecondRefusal() async throws {
        let setup = try TestSetup()
        let (client, _) = try await setup.resourceClient()
        let server = try ResourceServer { _ in .unauthorized("Bearer error=\"invalid_token\"") }
        let (response, _) = try await client.get(server.url())
        #expect(response.status == .unauthorized)
        #expect(server.requests.count == 2 && setup.provider.count(of: .token) == 2)
    }

    @Test func leavesATokenThatIsNewAsItIs() async throws {
        let setup = try TestSetup()
        let (client, _) = try await setup.resourceClient()
        setup.clock.advance(by: .seconds(3600))
        let server = try ResourceServer { _ in .unauthorized("Bearer error=\"invalid_token\"") }
        let (response, _) = try await client.get(server.url())
        #expect(response.status == .unauthorized)
        #expect(server.requests.count == 1 && setup.provider.count(of: .token) == 2)
    }

    @Test(arguments: [
        "Bearer error=\"insufficient_scope\"",
        "Bearer error=\"insufficient_scope\", scope=\"api.read\"",
    ])
    func leavesWhatAnotherTokenWouldNotChange(challenge: String) async throws {
        let setup = try TestSetup()
        let (client, _) = try await setup.resourceClient()
        let server = try ResourceServer { _ in .unauthorized(challenge) }
        let (response, _) = try await client.get(server.url())
        #expect(response.status == .unauthorized && server.requests.count == 1)
        #expect(setup.provider.count(of: .token) == 1)
    }

    @Test func meetsAClaimsChallenge() async throws {
        let setup = try TestSetup()
        let (client, token) = try await setup.resourceClient()
        let server = try server(refusing: token, with: Self.challenge)
        #expect(try await client.get(server.url()).response.status == .ok)
        let last = try #require(setup.provider.requests.last { $0.endpoint == .token })
        #expect(last["claims"] == Self.claims && last["grant_type"] == "refresh_token")
        // The new token is kept: the next call needs no challenge.
        #expect(try await client.get(server.url()).response.status == .ok)
        #expect(server.requests.count == 3 && setup.provider.count(of: .token) == 2)
    }

    @Test func raisesInteractionRequiredWithTheClaimsWhenThePersonIsNeeded() async throws {
        let setup = try TestSetup()
        let (client, token) = try await setup.resourceClient()
        let server = try server(refusing: token, with: Self.challenge)
        setup.provider.failNext(.token, with: .refusal("interaction_required"))
        do {
            _ = try await client.get(server.url())
            Issue.record("nothing was thrown")
        } catch AuthenticationError.Code.interactionRequired {
        }
        setup.provider.failNext(.token, with: .refusal("interaction_required"))
        let error = await #expect(throws: AuthenticationError.self) { try await client.get(server.url()) }
        #expect(error?.claims == Self.claims)
    }

    @Test func raisesTheChallengeWhenTheResourceDemandsTheSameAgain() async throws {
        let setup = try TestSetup()
        let (client, _) = try await setup.resourceClient()
        let server = try ResourceServer { _ in .unauthorized("Basic realm=x", Self.challenge) }
        let error = try await expectError(.claimsChallenge) { try await client.get(server.url()) }
        #expect(error.claims == Self.claims && server.requests.count == 2)
    }

    @Test func raisesInteractionRequiredWhenNobodyIsSignedIn() async throws {
        let setup = try TestSetup()
        let (client, _) = try await setup.resourceClient()
        try await client.application.remove(client.account)
        let server = try ResourceServer(answering: "hello")
        try await expectError(.noTokensFound) { try await client.get(server.url()) }
        #expect(server.requests.isEmpty)
    }

    @Test func manyRefusedCallsShareOneRenewal() async throws {
        let setup = try TestSetup()
        let (client, token) = try await setup.resourceClient()
        let server = try server(refusing: token, with: "Bearer")
        let url = try server.url()
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<20 { group.addTask { try await client.get(url).response.status.code } }
            return try await group.reduce(into: [Int]()) { $0.append($1) }
        }
        #expect(statuses == [Int](repeating: 200, count: 20))
        #expect(setup.provider.count(of: .token) == 2)
    }

    @Test func manyChallengedCallsShareOneRenewal() async throws {
        let setup = try TestSetup()
        let (client, token) = try await setup.resourceClient()
        let server = try server(refusing: token, with: Self.challenge)
        let url = try server.url()
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<20 { group.addTask { try await client.get(url).response.status.code } }
            return try await group.reduce(into: [Int]()) { $0.append($1) }
        }
        #expect(statuses == [Int](repeating: 200, count: 20))
        #expect(setup.provider.count(of: .token) == 2)
    }
}
