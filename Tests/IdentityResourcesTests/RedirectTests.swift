// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import LoopbackHTTP
import OAuthWire
import Testing

@testable import IdentityResources

/// Which redirects the client follows, and which hosts get the token.
@Suite(.timeLimit(.minutes(1)))
struct ResourceRedirectTests {
    @Test(arguments: [301, 302, 303, 307, 308])
    func keepsTheTokenWithinTheOrigin(status: Int) async throws {
        let setup = try TestSetup()
        let (client, token) = try await setup.resourceClient()
        let server = try ResourceServer { request in
            request.path == "/a/old"
                ? .redirect(status, to: "../new?x=1#y") : LoopbackResponse(status: 200, text: "new")
        }
        let (_, body) = try await client.get(server.url("/a/old"))
        #expect(text(body) == "new" && server.requests.map(\.target) == ["/a/old", "/new?x=1"])
        #expect(server.authorizations == [token, token])
    }

    @Test func dropsTheTokenAtAnotherOriginForGood() async throws {
        let setup = try TestSetup()
        let (client, token) = try await setup.resourceClient()
        let home = Shared("")
        let other = try ResourceServer { _ in .redirect(302, to: home.value + "/back") }
        let server = try ResourceServer { [origin = other.origin] request in
            request.path == "/back"
                ? LoopbackResponse(status: 200, text: "done") : .redirect(302, to: origin + "/there")
        }
        home.withLock { $0 = server.origin }
        var request = HTTPRequest(.get, to: try server.url("/"))
        request.headerFields = [.accept: "text/plain", .cookie: "a=b", .userAgent: "test"]
        request.headerFields[try #require(HTTPField.Name("X-Api-Key"))] = "key"
        let (response, body) = try await client.send(request)
        #expect(response.status == .ok && text(body) == "done")
        #expect(server.authorizations == [token, "-"] && other.authorizations == ["-"])
        let there = other.requests[0].headers
        #expect(there["Accept"] == "text/plain" && there["User-Agent"] == "test")
        #expect(there["X-Api-Key"] == nil && there["Cookie"] == nil)
        #expect(server.requests[0].headers["X-Api-Key"] == "key")
    }

    @Test func anotherOriginsRefusalIsNotAnswered() async throws {
        let setup = try TestSetup()
        let (client, _) = try await setup.resourceClient()
        let other = try ResourceServer { _ in .unauthorized("Bearer error=\"invalid_token\"") }
        let server = try ResourceServer { [origin = other.origin] _ in .redirect(302, to: origin) }
        let (response, _) = try await client.get(server.url())
        #expect(response.status == .unauthorized && other.requests.count == 1)
        #expect(setup.provider.count(of: .token) == 1)
    }

    @Test func leavesRedirectsOfOtherMethodsToTheProgram() async throws {
        let setup = try TestSetup()
        let (client, _) = try await setup.resourceClient()
        let server = try ResourceServer { _ in .redirect(307, to: "/elsewhere") }
        let (response, _) = try await client.send(HTTPRequest(.post, to: try server.url()), body: .bytes([1]))
        #expect(response.status == .temporaryRedirect && server.requests.count == 1)
    }

    @Test func takesABodyNoFurtherThanItsOrigin() async throws {
        let setup = try TestSetup()
        let (client, _) = try await setup.resourceClient()
        let other = try ResourceServer(answering: "there")
        let there = other.origin + "/there"
        let server = try ResourceServer { .redirect(307, to: $0.path == "/here" ? "/near" : there) }
        _ = try await client.send(HTTPRequest(.get, to: try server.url("/here")), body: .bytes([1, 2]))
        #expect(server.requests.map(\.body.count) == [2, 2])
        #expect(other.requests.map(\.body.count) == [0])
    }

    @Test func sendsTheTokenToTheFirstOriginAlone() async throws {
        let setup = try TestSetup()
        let (client, token) = try await setup.resourceClient()
        let (server, other) = (try ResourceServer(answering: "here"), try ResourceServer(answering: "there"))
        _ = try await client.get(server.url("/a"))
        try await expectError(.invalidArgument) { try await client.get(other.url()) }
        _ = try await client.get(server.url("/b/../c"))
        #expect(server.authorizations == [token, token] && other.requests.isEmpty)
    }

    @Test func endsALoop() async throws {
        let setup = try TestSetup()
        let (client, _) = try await setup.resourceClient()
        let server = try ResourceServer { _ in .redirect(302, to: "/again") }
        try await expectError(.malformedResponse) { try await client.get(server.url()) }
        #expect(server.requests.count == 11)
    }
}

@Suite struct ResourceRouteTests {
    private func route(_ address: String, method: HTTPRequest.Method = .get) throws -> ResourceRoute {
        let parts = try #require(WebAddress(address))
        return try ResourceRoute(
            HTTPRequest(method: method, scheme: parts.scheme, authority: parts.environment, path: parts.path)
        )
    }

    private func redirect(_ location: String) -> HTTPResponse {
        HTTPResponse(status: .found, headerFields: [.location: location])
    }

    /// The examples of RFC 3986 §5.4 that apply to the web; the base is `https://a/b/c/d;p?q`.
    static let references = [
        ("g", "https://a/b/c/g"), ("./g", "https://a/b/c/g"), ("g/", "https://a/b/c/g/"), ("/g", "https://a/g"),
        ("//g", "https://g"), ("?y", "https://a/b/c/d;p?y"), ("g?y", "https://a/b/c/g?y"),
        ("#s", "https://a/b/c/d;p?q"),
        ("g#s", "https://a/b/c/g"), ("g?y#s", "https://a/b/c/g?y"), (";x", "https://a/b/c/;x"),
        ("", "https://a/b/c/d;p?q"), (".", "https://a/b/c/"), ("./", "https://a/b/c/"), ("..", "https://a/b/"),
        ("../g", "https://a/b/g"), ("../..", "https://a/"), ("../../../g", "https://a/g"), ("/./g", "https://a/g"),
        ("/../g", "https://a/g"), ("g.", "https://a/b/c/g."), ("..g", "https://a/b/c/..g"),
        ("./g/.", "https://a/b/c/g/"), ("g/../h", "https://a/b/c/h"), ("g?y/../x", "https://a/b/c/g?y/../x"),
        ("https://B:443/x", "https://b/x"), ("HTTPS://b:8443/x?y", "https://b:8443/x?y"),
    ]

    @Test(arguments: references)
    func resolves(reference: String, expected: String) throws {
        let base = try #require(WebAddress("https://a/b/c/d;p?q"))
        #expect(base.resolving(reference)?.text == expected)
    }

    @Test(arguments: [("g", "https://a/g"), ("./g?y", "https://a/g?y"), ("../g", "https://a/g"), ("?y", "https://a?y")])
    func resolvesAgainstAnAddressWithoutAPath(reference: String, expected: String) throws {
        let base = try #require(WebAddress("https://a"))
        #expect(base.resolving(reference)?.text == expected)
    }

    @Test(arguments: [
        "http://a/x", "http://elsewhere/x", "https://user@a/x", "https://a\\@b/x", "mailto:a@b", "javascript:1", "g:h",
        "file:///etc/passwd", "https:///x", "/gr\u{FC}n", "/a b", "https://a:0/", "https://b%2Fc/",
        "http://127.0.0.1/x", "https://127.0.0.1/x", "https://0x7f.1/x",
    ])
    func refusesToFollow(location: String) throws {
        let route = try route("https://a/b")
        #expect(throws: AuthenticationError.self) { try route.following(redirect(location)) }
    }

    struct Origin: Sendable {
        let from: String
        let to: String
        let keeps: Bool
    }

    @Test(arguments: [
        Origin(from: "https://api.example/x", to: "https://API.example:443/y", keeps: true),
        Origin(from: "https://api.example/x", to: "https://api.example:444/y", keeps: false),
        Origin(from: "https://api.example/x", to: "https://api.example.evil/y", keeps: false),
        Origin(from: "https://api.example/x", to: "https://api.example./y", keeps: false),
        Origin(from: "https://api.example/x", to: "//evil.example/y", keeps: false),
        Origin(from: "http://127.0.0.1:80/x", to: "https://127.0.0.1/y", keeps: false),
        Origin(from: "http://127.0.0.1/x", to: "http://localhost/y", keeps: false),
    ])
    func keepsTheTokenAtTheExactOriginAlone(origin: Origin) throws {
        let next = try #require(try route(origin.from).following(redirect(origin.to)))
        #expect(next.carriesToken == origin.keeps)
    }

    @Test(arguments: [
        "http://api.example/x", "ftp://api.example/x", "https://u:p@api.example/", "https://api.example/ x",
    ])
    func refusesARequestThatTheTokenMustNotGoWith(address: String) throws {
        let scheme = String(address.prefix { $0 != ":" })
        let rest = address.dropFirst(scheme.count + 3)
        let request = HTTPRequest(
            method: .get,
            scheme: scheme,
            authority: String(rest.prefix { $0 != "/" }),
            path: String(rest.drop { $0 != "/" })
        )
        #expect(throws: AuthenticationError.self) { try ResourceRoute(request) }
    }
}
