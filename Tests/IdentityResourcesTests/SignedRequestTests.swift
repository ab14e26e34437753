// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityClient
import IdentityResources
import IdentityTestSupport
import IdentityTesting
import LoopbackHTTP
import OAuthWire
import Testing

/// An API that accepts signed requests only, and checks every part of them.
@Suite(.timeLimit(.minutes(1)))
struct SignedRequestTests {
    private let setup: TestSetup

    init() throws {
        setup = try TestSetup(.entra)
    }

    private func client(_ scheme: AuthenticationScheme = .pop) async throws -> AuthenticatedClient {
        let (application, result) = try await setup.signedIn()
        return AuthenticatedClient(
            application: application,
            account: result.account,
            scopes: ["api.read"],
            scheme: scheme,
            transport: CurlTransport()
        )
    }

    /// An API with nonces. `responses` are given before a request is looked at.
    private func server(
        nonces: [String] = [],
        _ responses: LoopbackResponse...,
        next: String? = nil
    ) throws -> ResourceServer {
        let (open, queue) = (Shared(nonces), Shared(responses))
        let (provider, clock) = (setup.provider, setup.clock)
        return try ResourceServer { request in
            if let response = queue.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { return response }
            let nonce = open.value.first
            do {
                try SignedRequestCheck(provider: provider, now: clock.unixSeconds).check(request, nonce: nonce)
            } catch SignedRequestCheck.Failure.nonce {
                return .unauthorized("PoP error=\"invalid_nonce\", nonce=\"\(nonce ?? "")\"")
            } catch {
                return .unauthorized("PoP error=\"invalid_token\", error_description=\"\(error)\"")
            }
            var response = LoopbackResponse.json(#"{"ok":true}"#)
            if nonces.count > 1 { open.withLock { _ = $0.removeFirst() } }
            if let next = next ?? (nonces.count > 1 ? open.value.first : nil) {
                response.headers = LoopbackHeaders([
                    .init(name: "Authentication-Info", value: "nextnonce=\"\(next)\"")
                ])
            }
            return response
        }
    }

    @Test(arguments: ["/", "/v1/a%2Fb?x=1&y=%20z", "/list?id=1&id=2&sort=up"])
    func signsEachRequest(path: String) async throws {
        let server = try server()
        let client = try await client()
        for _ in 0..<2 { #expect(try await client.get(server.url(path)).response.status == .ok) }
        let post = HTTPRequest(.post, to: try server.url(path))
        #expect(try await client.send(post, body: .json(Array("{}".utf8))).response.status == .ok)
        #expect(server.requests.count == 3 && Set(server.authorizations).count == 3)
        // One token for all of them, beside the one of the sign-in.
        #expect(setup.provider.count(of: .token) == 2)
    }

    @Test func answersTheNonceOnceAndUsesItFromThenOn() async throws {
        let server = try server(nonces: ["n1"])
        let client = try await client()
        let post = HTTPRequest(.post, to: try server.url("/items"))
        #expect(try await client.send(post, body: .json(Array("{}".utf8))).response.status == .ok)
        #expect(server.requests.count == 2 && server.requests.allSatisfy { $0.body == Array("{}".utf8) })
        #expect(try await client.get(server.url()).response.status == .ok)
        #expect(server.requests.count == 3 && setup.provider.count(of: .token) == 2)
    }

    /// RFC 9110 §11.6.3
    @Test func usesTheNonceThatAnAnswerAnnounces() async throws {
        let server = try server(nonces: ["n1", "n2", "n3"])
        let client = try await client()
        for _ in 0..<2 { #expect(try await client.get(server.url()).response.status == .ok) }
        #expect(server.requests.count == 3, "Only the first request met a challenge.")
    }

    @Test func givesUpWhereEachNonceIsRefused() async throws {
        let challenge = LoopbackResponse.unauthorized(#"PoP nonce="other""#)
        let server = try ResourceServer { _ in challenge }
        let client = try await client()
        _ = try await client.application.acquireTokenSilently(bound(client))  // so that the token is an older one
        #expect(try await client.get(server.url()).response.status == .unauthorized)
        // The nonce is answered once, and the token renewed once.
        #expect(server.requests.count == 3 && setup.provider.count(of: .token) == 3)
    }

    @Test(
        arguments: [
            #"PoP nonce="a", nonce="b""#, "PoP nonce=\"\(String(repeating: "n", count: 10_240))\"", #"PoP nonce="a b""#,
            #"PoP nonce="""#, "PoP nonce=\"a\tb\"", #"DPoP nonce="a""#,
        ]
    )
    func signsNoHostileNonce(challenge: String) async throws {
        let server = try server(.unauthorized(challenge), .unauthorized(challenge), .unauthorized(challenge))
        let client = try await client()
        #expect(try await client.get(server.url()).response.status == .unauthorized)
        let nonces = try server.authorizations.map { try SignedRequestCheck.claims($0).string("nonce") }
        #expect(nonces.count <= 2 && nonces.allSatisfy { $0 == nil })
    }

    @Test func renewsATokenThatTheAPIRefuses() async throws {
        let server = try server(.unauthorized(#"PoP error="invalid_token""#))
        let client = try await client()
        let first = try await client.application.acquireTokenSilently(bound(client))
        #expect(try await client.get(server.url()).response.status == .ok)
        let tokens = try server.authorizations.map { try SignedRequestCheck.claims($0).string("at") }
        #expect(tokens.first == first.accessToken && tokens.last != first.accessToken)
    }

    @Test func meetsAClaimsChallengeOfItsScheme() async throws {
        let challenge = #"PoP error="insufficient_claims", claims="eyJhIjoxfQ""#
        let server = try server(.unauthorized(challenge))
        let client = try await client()
        #expect(try await client.get(server.url()).response.status == .ok)
        let sent = try #require(setup.provider.requests.last { $0.endpoint == .token })
        #expect(sent["claims"] == #"{"a":1}"# && sent["token_type"] == "pop")
    }

    @Test func signsTheAddressOfARedirectWithinTheAPIOnly() async throws {
        let other = try ResourceServer(answering: "elsewhere")
        let server = try server(.redirect(302, to: "/second?x=1"))
        let client = try await client()
        #expect(try await client.get(server.url("/first")).response.status == .ok)
        let paths = try server.authorizations.map { try SignedRequestCheck.claims($0).string("p") }
        #expect(paths == ["/first", "/second"])
        let away = try self.server(.redirect(302, to: other.origin + "/x"))
        #expect(try await self.client().get(away.url()).response.status == .ok)
        #expect(other.authorizations == ["-"])
    }

    @Test func aClientOfBearerTokensSignsNothing() async throws {
        let server = try server(nonces: ["n1"])
        let client = try await client(.bearer)
        #expect(try await client.get(server.url()).response.status == .unauthorized)
        #expect(server.requests.count == 1 && server.authorizations[0].hasPrefix("Bearer "))
    }

    private func bound(_ client: AuthenticatedClient) -> SilentParameters {
        var parameters = SilentParameters(scopes: client.scopes, account: client.account)
        parameters.scheme = .pop
        return parameters
    }
}
