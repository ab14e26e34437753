// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import LoopbackHTTP
import OAuthWire
import Synchronization
import Testing

/// The provider for real processes, with sockets on both sides.
@Suite(.timeLimit(.minutes(1)))
struct LoopbackProviderTests {
    /// The redirect address of a program, on its own port.
    private final class Program: Sendable {
        let requests = Mutex<[LoopbackRequest]>([])

        func start() throws -> LoopbackServer {
            try LoopbackServer.start { [self] request in
                requests.withLock { $0.append(request) }
                return LoopbackResponse(status: 200, text: "Signed in.")
            }
        }

        func items(_ request: LoopbackRequest) throws -> [String: String] {
            let text = request.method == "POST" ? String(decoding: request.body, as: UTF8.self) : request.query ?? ""
            return Dictionary(try FormURLEncoded.decode(text)) { first, _ in first }
        }
    }

    @Test(arguments: ["query", "form_post"])
    func signsInOverSockets(_ mode: String) async throws {
        let provider = try TestIdentityProvider()
        let authority = try provider.listen()
        defer { provider.close() }
        let program = Program()
        let server = try program.start()
        defer { server.close() }

        let client = ProviderClient(provider: provider, base: authority.description)
        let items = client.authorizationItems([
            "redirect_uri": "http://127.0.0.1:\(server.port)/done", "response_mode": mode,
        ])
        let url = try FormURLEncoded.appending(items, to: authority.description + "/authorize")
        let browser = ScriptedBrowser(provider: nil)
        browser.redirectFaults = [.strayRequest(), .forgedFirst("state", value: "guessed"), .twice]
        try await browser.open(#require(URL(string: url)))
        let page = try await browser.finalPage()
        #expect(page.status == 200)
        #expect(page.body == "Signed in.")

        let requests = program.requests.withLock { $0 }
        #expect(requests.map(\.path) == ["/favicon.ico", "/done", "/done", "/done"])
        #expect(requests.dropFirst().allSatisfy { $0.method == (mode == "query" ? "GET" : "POST") })
        let received = try requests.dropFirst().map(program.items)
        #expect(received.map { $0["state"] } == ["guessed", "the-state", "the-state"])
        #expect(received[1]["iss"] == authority.description)
        let code = try #require(received[1]["code"])
        let answer = try await client.redeem(code: code, redirectURI: "http://127.0.0.1:\(server.port)/done")
        let token = try JSONWebToken(compact: try #require(try TokenResponse(try answer.json).idToken))
        #expect(token.claims.string("iss") == authority.description)
    }

    @Test(arguments: ProviderProfileTests.profiles)
    func publishesWhatItsLoopbackAuthorityExpects(_ profile: TestIdentityProvider.Profile) async throws {
        let provider = try TestIdentityProvider(profile: profile)
        let authority = try provider.listen()
        defer { provider.close() }
        #expect(provider.loopbackAuthority == authority)
        let url = try #require(authority.configurationURLs.first.flatMap { URL(string: $0) })
        let page = try await ScriptedBrowser(provider: nil).visit(url)
        let metadata = try DiscoveryDocument(try JSONObject(parsing: Array(page.body.utf8)))
        #expect(authority.accepts(publishedIssuer: metadata.issuer))
        #expect(metadata.tokenEndpoint?.hasPrefix(authority.base.origin) == true)
    }

    @Test func dropsTruncatesAndClosesConnections() async throws {
        let provider = try TestIdentityProvider()
        let authority = try provider.listen()
        let url = try #require(URL(string: authority.description + "/keys"))
        let browser = ScriptedBrowser(provider: nil)
        provider.failNext(.keys, with: .drop, .truncated)
        await #expect(throws: AuthenticationError.self) { try await browser.visit(url) }
        let half = try await browser.visit(url)
        #expect(throws: JSONError.self) { try JSONObject(parsing: Array(half.body.utf8)) }
        #expect(try await browser.visit(url).status == 200)
        provider.close()
        #expect(provider.loopbackAuthority == nil)
        await #expect(throws: AuthenticationError.self) { try await browser.visit(url) }
    }
}
