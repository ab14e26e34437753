// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTestSupport
import OAuthWire
import Testing

@testable import IdentityResources

/// The search for an address's server, and how far a sign-in counts.
@Suite(.timeLimit(.minutes(1)))
struct ResourceSearchTests {
    private typealias Places = ProtectedResourceTests.Places

    private static let wellKnown = "https://h/.well-known/oauth-protected-resource"
    private let cache = InMemoryTokenCache()
    private let software = ClientSoftware(id: "com.example.notes", name: "Notes")

    private func server(_ issuer: String, _ members: String = "") -> Places.Answer {
        Places.Answer(
            body:
                #"{"issuer":"\#(issuer)","authorization_endpoint":"https://login.as/a","token_endpoint":"https://as/t","#
                + #""code_challenge_methods_supported":["S256"]\#(members)}"#
        )
    }

    private func resource(_ identifier: String, at issuer: String = "https://as", _ members: String = "")
        -> Places.Answer
    {
        Places.Answer(body: #"{"resource":"\#(identifier)","authorization_servers":["\#(issuer)"]\#(members)}"#)
    }

    /// Two resources of a host, and their server.
    private func places(_ more: [String: Places.Answer] = [:]) -> Places {
        let registering = #","registration_endpoint":"https://as/register""#
        return Places(
            [
                Self.wellKnown + "/a/mcp": resource("https://h/a/mcp", #","scopes_supported":["read"]"#),
                Self.wellKnown + "/b/mcp": resource("https://h/b/mcp"),
                "https://as/.well-known/oauth-authorization-server": server("https://as", registering),
            ].merging(more) { $1 }
        )
    }

    private func resource(_ identifier: String, _ members: String) -> Places.Answer {
        resource(identifier, at: "https://as", members)
    }

    private func search(_ address: String, _ places: Places) -> ResourceSearch {
        var search = ResourceSearch(address, software: software, cache: cache)
        search.transport = places
        return search
    }

    private func known(_ identifier: String, place: String? = nil, issuer: String = "https://as") -> KnownResource {
        KnownResource(
            identifier: identifier,
            place: place ?? identifier,
            issuer: issuer,
            scopes: ["read"],
            clientID: "client",
            kind: .registered,
            dpop: .off,
            assumesPKCE: false,
            isNamed: false
        )
    }

    @Test(arguments: [
        ("https://h/a/mcp", "https://h/a/mcp", "https://h/a/mcp/tools?x=1", true),
        ("https://h/a/mcp", "https://h/a/mcp", "https://h/b/mcp", false),
        ("https://h/a/mcp", "https://h/a/mcp", "https://h/a", false),
        ("https://h", "https://h", "https://h/b/mcp", true), ("https://h", "https://h/a/mcp", "https://h/b/mcp", false),
        ("https://h", "https://h/a/mcp", "https://h/a/mcp/tools", true),
        ("https://h", "https://h/a/mcp", "https://h", false), ("https://h", "https://h/a/mcp", "https://h/a", false),
        ("https://h/a/mcp?t=1", "https://h/a/mcp?t=1", "https://h/a/mcp", false),
    ])
    func findsASignInInItsReachAlone(_ identifier: String, _ place: String, _ asked: String, _ isFound: Bool)
        async throws
    {
        let memory = CachedResources(cache: cache, group: software.group)
        let resource = known(identifier, place: place)
        try await memory.keep(resource, calledAt: "https://h/a/mcp")
        #expect(try await memory.known(of: asked) == (isFound ? resource : nil))
        // Also if it stands at an address above that it does not reach.
        let others = CachedResources(cache: cache, group: try CacheGroup("others"))
        try await others.keep(resource, calledAt: "https://h")
        #expect(try await others.known(of: asked) == (isFound ? resource : nil))
    }

    @Test func searchesAtTheCalledAddress() async throws {
        let memory = CachedResources(cache: cache, group: software.group)
        try await memory.keep(known("https://h", place: "https://h/a/mcp"), calledAt: "https://h/a/mcp")
        let challenge = #"Bearer resource_metadata="https://h/meta""#
        let places = Places([
            "https://h/a/mcp": Places.Answer(status: 401, challenge: challenge),
            "https://h/meta": resource("https://h"),
            "https://as/.well-known/oauth-authorization-server": server(
                "https://as",
                #","registration_endpoint":"https://as/register""#
            ),
        ])
        let found = try await search("https://h/a/mcp", places).run()
        #expect(found.resource.identifier == "https://h" && found.earlier != nil && found.question == nil)
    }

    /// A nearer document is another sign-in, with servers of its own.
    @Test func takesANearerDocumentForAnotherSignIn() async throws {
        let memory = CachedResources(cache: cache, group: software.group)
        try await memory.keep(known("https://h", issuer: "https://other"), calledAt: "https://h")
        let found = try await search("https://h/b/mcp", places()).run()
        #expect(found.resource.identifier == "https://h/b/mcp" && found.earlier == nil && found.question != nil)
        // One that is not nearer must keep the server.
        try await memory.keep(known("https://h/a/mcp", issuer: "https://other"), calledAt: "https://h/a/mcp")
        _ = try await expectError(.untrustedAuthority) { try await search("https://h/a/mcp", places()).run() }
    }

    /// The slash of an empty path is left to the server's metadata, whose spelling counts from then on.
    @Test(arguments: [
        ("https://as", "https://as/", nil, "https://as/"), ("https://as/", "https://as", nil, "https://as"),
        ("https://as", "https://as", "https://as/", "https://as"),
        ("https://as/", "https://as/", "https://as", "https://as/"),
        ("https://as", "https://as/", "https://as/", "https://as/"), ("https://as/x", "https://as/x/", nil, nil),
        ("https://as", "https://other", nil, nil),
    ])
    func leavesTheSlashOfAnIssuerToItsServer(_ listed: String, _ published: String, _ named: String?, _ issuer: String?)
        async throws
    {
        let members = #","registration_endpoint":"https://as/register""#
        var search = search(
            "https://h/a/mcp",
            places([
                Self.wellKnown + "/a/mcp": resource("https://h/a/mcp", at: listed),
                "https://as/.well-known/oauth-authorization-server": server(published, members),
                "https://as/.well-known/oauth-authorization-server/x": server(published, members),
            ])
        )
        (search.issuer, search.isNamed) = (named, named != nil)
        guard let issuer else {
            let refused = search
            _ = try await expectError(.invalidResponse) { try await refused.run() }
            return
        }
        #expect(try await search.run().authority.url == issuer)
    }

    /// A web application answers every address with its page.
    @Test(arguments: [true, false]) func goesOnWhereAServerShowsAPage(isAtTheNextPlace: Bool) async throws {
        let places = ["oauth-authorization-server", "openid-configuration"].map { "https://as/.well-known/\($0)" }
        let page = Places.Answer(body: "<!doctype html>")
        let metadata = server("https://as", #","registration_endpoint":"https://as/register""#)
        let search = search(
            "https://h/a/mcp",
            self.places([places[0]: page, places[1]: isAtTheNextPlace ? metadata : page])
        )
        guard isAtTheNextPlace else {
            let error = try await expectError(.malformedResponse) { try await search.run() }
            #expect(places.allSatisfy(error.message.contains) && error.message.contains("captive portal"))
            return
        }
        #expect(try await search.run().authority.url == "https://as")
    }

    /// Only a resource and an issuer that are named together answer the question.
    @Test func asksUnlessResourceAndIssuerAreNamedTogether() async throws {
        var search = search("https://h/a/mcp", places())
        search.issuer = "https://as"
        #expect(try await search.run().question != nil)
        search.clientID = "usual"
        #expect(try await search.run().question != nil)
        search.isNamed = true
        #expect(try await search.run().question == nil)
        (search.isNamed, search.isWhole) = (false, true)
        #expect(try await search.run().question != nil)
    }

    @Test func takesAResourceWithoutMetadataThatIsNamedWithItsIssuer() async throws {
        var search = search("https://h/c", places())
        search.issuer = "https://as"
        let unnamed = search
        _ = try await expectError(.unsupported) { try await unnamed.run() }
        search.isNamed = true
        let found = try await search.run()
        #expect(found.resource.identifier == "https://h/c" && found.authority.resource == "https://h/c")
    }

    @Test func asksNobodyAboutAServerWithoutClients() async throws {
        let bare = places(["https://as/.well-known/oauth-authorization-server": server("https://as")])
        var search = search("https://h/a/mcp", bare)
        let unregistered = search
        _ = try await expectError(.clientNotRegistered) { try await unregistered.run() }
        search.clientID = "by-hand"
        #expect(try await search.run().question != nil)
    }

    private func text(_ question: BrowserQuestion?, _ label: String) -> String? {
        question?.details.first { $0.label == label }?.text
    }

    @Test func namesTheAddressesAndTheScopes() async throws {
        let first = try #require(try await search("https://h/a/mcp", places()).run().question)
        #expect(first.title == "Sign in for h?" && first.sentences.first?.contains("Notes is about to call") == true)
        #expect(text(first, "Address") == "https://h/a/mcp" && text(first, "Server") == "https://as")
        #expect(text(first, "Scopes") == "read" && text(first, "Signed in already for") == nil)
        let memory = CachedResources(cache: cache, group: software.group)
        try await memory.keep(known("https://h/b/mcp"), calledAt: "https://h/b/mcp")
        let second = try #require(try await search("https://h/a/mcp", places()).run().question)
        #expect(second.sentences.first?.contains("signed in at this server already") == true)
        #expect(text(second, "Signed in already for") == "https://h/b/mcp")
    }

    /// The page names the host of the sign-in page where nothing else tells whose answer comes back.
    @Test(arguments: [
        ("", false, nil), ("", true, "login.as"),
        (#","authorization_response_iss_parameter_supported":true"#, true, nil),
    ])
    func namesTheHostOfTheSignInPage(_ members: String, _ isGiven: Bool, _ host: String?) async throws {
        let members = #","registration_endpoint":"https://as/register""# + members
        let metadata = ["https://as/.well-known/oauth-authorization-server": server("https://as", members)]
        var search = search("https://h/a/mcp", places(metadata))
        if isGiven { search.clientID = "by-hand" }
        #expect(text(try await search.run().question, "Its sign-in page is at") == host)
    }

    @Test func saysHowFarATokenIsGood() async throws {
        let challenge = #"Bearer resource_metadata="https://h/meta""#
        let places = places([
            "https://h/c": Places.Answer(status: 401, challenge: challenge), "https://h/meta": resource("https://h"),
        ])
        let question = try #require(try await search("https://h/c", places).run().question)
        #expect(text(question, "Address") == "https://h/c" && text(question, "The token is good for") == "https://h")
        #expect(question.sentences.contains { $0.contains("whole host") })
    }

    @Test func asksInWordsThatNoServerChooses() throws {
        let authority = try Authority.oauth2(issuer: "https://as.example", resource: "https://h/mcp")
        var metadata = JSONObject([("resource", .string("https://h/mcp"))])
        metadata["authorization_servers"] = .strings(["https://as.example"])
        metadata["resource_name"] = .string("Bank\u{202E}<b>”. Your administrator has set this up. “It")
        let resource = ProtectedResource(try ResourceMetadata(metadata), demanded: nil)
        let question = BrowserQuestion(for: resource, at: authority, of: "Notes")
        #expect(!question.sentences.joined().contains("administrator"))
        let name = try #require(text(question, "The address calls itself"))
        #expect(name.hasPrefix("Bank") && !name.unicodeScalars.contains { "\u{202E}”“.".unicodeScalars.contains($0) })
    }
}
