// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Synchronization
import SystemSupport
import Testing

@testable import IdentityResources

/// Programs that register themselves at servers.
///
/// - SeeAlso: RFC 7591
@Suite(.timeLimit(.minutes(1)))
struct ClientRegistrationTests {
    /// A server that registers programs: it gives the answers in turn, and then succeeds.
    final class Server: HTTPTransport {
        struct Request: Sendable {
            let body: JSONObject
            let authorization: String?
        }

        private let metadata: String
        private let state: Mutex<(answers: [(Int, String)], requests: [Request])>
        private let gate: Promise<Void>?
        /// Fulfilled when the first registration has arrived.
        let arrival = Promise<Void>()

        init(_ answers: [(Int, String)] = [], metadata: String = registering, gate: Promise<Void>? = nil) {
            state = Mutex((answers, []))
            self.metadata = metadata
            self.gate = gate
        }

        var requests: [Request] { state.withLock { $0.requests } }

        func send(_ request: HTTPRequest, body: [UInt8]?) async throws -> (HTTPResponse, [UInt8]) {
            guard request.path == "/register", request.method == .post else {
                let members =
                    #""issuer":"https://h","authorization_endpoint":"https://h/a","token_endpoint":"https://h/t""#
                let text = #"{\#(members),"code_challenge_methods_supported":["S256"]\#(metadata)}"#
                return (HTTPResponse(status: .ok), Array(text.utf8))
            }
            let json = try JSONObject(parsing: body ?? [])
            #expect(request.headerFields[.contentType] == "application/json")
            // The server has done its part, whether or not the caller still waits for the answer.
            let answer = state.withLock { state in
                state.requests.append(Request(body: json, authorization: request.headerFields[.authorization]))
                return state.answers.isEmpty
                    ? (201, #"{"client_id":"client-\#(state.requests.count)"}"#) : state.answers.removeFirst()
            }
            arrival.fulfil()
            try await gate?.value()
            return (HTTPResponse(status: .init(code: answer.0)), Array(answer.1.utf8))
        }
    }

    private static let registering = #","registration_endpoint":"https://h/register""#
    private static let path = RedirectPath.of("https://h").text
    private static let ports = (28471...28475).map { "http://127.0.0.1:\($0)\(path)" }
    private static let portsOfIPv6 = (28471...28475).map { "http://[::1]:\($0)\(path)" }

    private let cache = InMemoryTokenCache()
    private let clock = ManualClock()
    private let software = ClientSoftware(id: "com.example.mail", name: "Mail")

    private func obtain(
        _ server: Server,
        _ software: ClientSoftware? = nil,
        resource: String? = nil,
        scopes: Set<Scope> = [],
        replacing refused: ClientID? = nil
    ) async throws -> ClientRegistration {
        try await ClientRegistration.obtain(
            of: software ?? self.software,
            at: .oauth2(issuer: "https://h", resource: resource),
            scopes: scopes,
            cache: cache,
            transport: server,
            clock: clock,
            replacing: refused
        )
    }

    private func uris(_ request: Server.Request) -> [String]? { request.body.strings("redirect_uris") }

    @Test func registersOnceForEachResource() async throws {
        let server = Server()
        let first = try await obtain(server)
        #expect(try await obtain(server).clientID == "client-1")
        let second = try await obtain(server, resource: "https://api/mcp", scopes: ["read"])
        #expect(first.clientID == "client-1" && second.clientID == "client-2" && server.requests.count == 2)
        #expect(second.authority.resource == "https://api/mcp" && second.group == first.group)
        let body = try #require(server.requests.first).body
        #expect(body.strings("redirect_uris") == ["http://127.0.0.1\(Self.path)"] + Self.ports)
        #expect(body.string("token_endpoint_auth_method") == "none" && body.string("application_type") == "native")
        #expect(body.strings("grant_types") == ["authorization_code", "refresh_token"])
        #expect(body.string("software_id") == "com.example.mail" && body.string("client_name") == "Mail")
        #expect(body["scope"] == nil && server.requests.first?.authorization == nil)
        #expect(server.requests.last?.body.string("scope") == "read")
        let configuration = first.configuration(cache: cache)
        #expect(configuration.clientID == "client-1" && configuration.clientSecret == nil)
        #expect(configuration.cacheGroup == first.group)
        #expect(configuration.redirectURI == (try .loopback(host: .ipv4, ports: 28471...28475, path: Self.path)))
        let other = ClientSoftware(id: "com.example.files", name: "Files")
        #expect(try await obtain(server, other).clientID == "client-3")
    }

    /// A client that holds the program to its scopes has those that are asked for, and no others.
    @Test func registersTheScopesThatItAsksFor() async throws {
        let listed = Server(metadata: Self.registering + #","scopes_supported":["openid","admin","offline_access"]"#)
        _ = try await obtain(listed, resource: "https://api/mcp", scopes: ["write", "read"])
        _ = try await obtain(listed)
        #expect(listed.requests.map { $0.body.string("scope") } == ["offline_access read write", nil])
    }

    /// No other server's answer comes back at the address of this one.
    @Test func returnsToAnAddressForThisServerAlone() async throws {
        let paths = ["https://h", "https://h/", "https://h/a", "https://other"].map { RedirectPath.of($0).text }
        #expect(Set(paths).count == 4 && paths[0] == Self.path && Self.path.hasPrefix("/callback/"))
        #expect(Self.path.utf8.count == "/callback/".utf8.count + 32)
    }

    /// A registration of an earlier version goes on, and the next sign-in registers anew.
    @Test func keepsWhatEarlierVersionsRegistered() async throws {
        let (server, authority) = (Server(), try Authority.oauth2(issuer: "https://h", resource: "https://api/mcp"))
        let name = Digest.hexadecimal(of: ["registration", "https://h", software.id])
        let key = CacheKey(group: software.group, kind: .application, name: name)
        let text = #"{"client_id":"old","client_secret":"s","redirect_uris":["http://127.0.0.1/callback"],"x":1}"#
        #expect(try await cache.replace(nil, with: CacheRecord(bytes: Array(text.utf8)), for: key))
        func kept(_ id: ClientID) async throws -> ClientRegistration? {
            try await ClientRegistration.kept(id, of: software, at: authority, cache: cache)
        }
        let old = try #require(try await kept("old"))
        #expect(old.clientSecret?.rawValue == "s")
        #expect(old.redirectURI == (try .loopback(host: .ipv4, path: "/callback")))
        #expect(try await obtain(server, resource: "https://api/mcp").clientID == "client-1")
        #expect(try await kept("old")?.clientSecret?.rawValue == "s")
        #expect(try await kept("client-1")?.redirectURI != old.redirectURI)
        #expect(try await kept("client-2") == nil)
    }

    /// The client of a sign-in that exists stays until a new sign-in is stored.
    @Test func keepsTheClientThatANewOneReplaces() async throws {
        let server = Server([(201, #"{"client_id":"a","client_secret":"s"}"#)])
        let first = try await obtain(server)
        #expect(try await obtain(server, replacing: first.clientID).clientID == "client-2")
        let authority = first.authority
        #expect(
            try await ClientRegistration.kept("a", of: software, at: authority, cache: cache)?.clientSecret?.rawValue
                == "s"
        )
        #expect(try await ClientRegistration.kept(of: software, at: authority, cache: cache)?.clientID == "client-2")
        try await ClientRegistration.forget("a", of: software, at: authority, cache: cache)
        #expect(try await ClientRegistration.kept("a", of: software, at: authority, cache: cache) == nil)
        #expect(try await obtain(server).clientID == "client-2" && server.requests.count == 2)
    }

    @Test func registersOnceForAllCallersAtTheSameTime() async throws {
        let gate = Promise<Void>()
        let server = Server(gate: gate)
        let callers = (0..<20).map { _ in Task { try await obtain(server) } }
        try await server.arrival.value()
        gate.fulfil()
        for caller in callers { #expect(try await caller.value.clientID == "client-1") }
        #expect(server.requests.count == 1)
    }

    /// The server has registered the program when its caller gives up.
    @Test func keepsTheRegistrationOfACallerThatIsGone() async throws {
        let gate = Promise<Void>()
        let server = Server(gate: gate)
        let caller = Task { try await obtain(server) }
        try await server.arrival.value()
        caller.cancel()
        await #expect(throws: CancellationError.self) { try await caller.value }
        let next = Task { try await obtain(server) }
        gate.fulfil()
        #expect(try await next.value.clientID == "client-1" && server.requests.count == 1)
    }

    @Test func registersAfterTheDeathOfTheProcessThatWasAboutTo() async throws {
        let server = Server()
        let first = try await obtain(server)
        var dead = ProcessTable.current()
        (dead.pid, dead.startTime) = (1 << 30, "1")
        let deadline = ProcessTable.bootTime() + 100_000
        let lease = RefreshLease(nonce: "dead", duration: 100_000, holder: dead, deadline: deadline)
        for key in try await cache.records(of: .application, in: first.group).keys {
            #expect(try await cache.replace(nil, with: lease.encoded(), for: key.lease))
        }
        #expect(try await obtain(server, replacing: first.clientID).clientID == "client-2")
    }

    @Test func registersAnewWhatIsRefusedOrOver() async throws {
        let server = Server([
            (201, #"{"client_id":"a","client_secret":"s","client_secret_expires_at":\#(clock.unixSeconds + 60)}"#)
        ])
        let first = try await obtain(server)
        #expect(first.clientSecret?.rawValue == "s" && first.secretExpiresOn != nil)
        clock.advance(by: .seconds(61))
        #expect(try await obtain(server).clientID == "client-2")
        #expect(try await obtain(server, replacing: "another").clientID == "client-2")
        #expect(try await obtain(server, replacing: "client-2").clientID == "client-3")
        #expect(try await obtain(server, replacing: "client-2").clientID == "client-3")
        #expect(server.requests.count == 3)
    }

    @Test(arguments: [
        (#""token_endpoint_auth_method":"client_secret_basic""#, "s", ClientCredentials.Place.header),
        (#""token_endpoint_auth_method":"client_secret_post""#, "s", .form),
        (#""token_endpoint_auth_method":"none""#, nil, nil), (#""x":1"#, "s", nil),
    ])
    func showsItselfAsTheAnswerSays(_ member: String, _ secret: String?, _ place: ClientCredentials.Place?) async throws
    {
        let server = Server([(200, #"{"client_id":"a","client_secret":"s","client_secret_expires_at":0,\#(member)}"#)])
        for _ in 0..<2 {
            let registration = try await obtain(server)
            #expect(registration.clientSecret?.rawValue == secret && registration.secretPlace == place)
            #expect(registration.configuration(cache: cache).clientSecretPlace == place)
        }
        #expect(server.requests.count == 1)
    }

    @Test func asksOnceMoreInTheFormThatTheRefusalDemands() async throws {
        let server = Server([
            (400, #"{"error":"invalid_redirect_uri"}"#), (400, #"{"error":"invalid_client_metadata"}"#),
            (400, #"{"error":"invalid_redirect_uri"}"#),
        ])
        let registration = try await obtain(server)
        #expect(
            server.requests.map(uris) == [
                ["http://127.0.0.1\(Self.path)"] + Self.ports, Self.ports, Self.ports, Self.portsOfIPv6,
            ]
        )
        #expect(
            server.requests.map { $0.body.string("software_id") } == ["com.example.mail", "com.example.mail", nil, nil]
        )
        #expect(registration.redirectURI == (try .loopback(host: .ipv6, ports: 28471...28475, path: Self.path)))
    }

    /// Servers refuse scopes, members and addresses in ways of their own.
    @Test(arguments: [
        (403, #"{"error":"insufficient_scope"}"#), (400, #"{"error":"invalid_scope"}"#), (422, #"{"detail":[]}"#),
        (400, ""), (400, #"{"error":"invalid_client_metadata"}"#),
    ])
    func asksOnceMoreInAShorterForm(_ status: Int, _ body: String) async throws {
        let server = Server([(status, body), (status, body)])
        _ = try await obtain(server, scopes: ["read"])
        #expect(server.requests.map { $0.body.string("scope") } == ["read", nil, nil])
        #expect(server.requests.map(uris).last == Self.ports)
        let stubborn = Server(Array(repeating: (status, body), count: 9))
        _ = try await expectError(.clientNotRegistered) { try await obtain(stubborn, resource: "https://api/mcp") }
        #expect(stubborn.requests.count == 4)
    }

    @Test(arguments: [
        (401, "", "initial access token"), (403, #"{"error":"access_denied"}"#, "initial access token"),
        (403, #"{"error":"unauthorized_client"}"#, "refused it (unauthorized_client)"), (404, "<html>", "404"),
    ])
    func saysWhatToRegisterByHand(_ status: Int, _ body: String, _ words: String) async throws {
        let server = Server([(status, body)])
        let error = try await expectError(.clientNotRegistered) { try await obtain(server) }
        #expect(error.message.contains(words) && error.message.contains("http://127.0.0.1:28473/callback"))
        #expect(error.serverError?.httpStatus == status && server.requests.count == 1)
        // The lease is free again.
        #expect(try await obtain(server).clientID == "client-2")
    }

    @Test func saysWhatToRegisterWhereNothingIsOffered() async throws {
        let error = try await expectError(.clientNotRegistered) { try await obtain(Server(metadata: "")) }
        #expect(error.message.contains("http://127.0.0.1/callback"))
    }

    @Test(arguments: [(503, AuthenticationError.Code.serverUnavailable), (429, .throttled)])
    func triesNothingElseAtABusyServer(_ status: Int, _ code: AuthenticationError.Code) async throws {
        let server = Server([(status, "")])
        try await expectError(code) { try await obtain(server) }
        #expect(server.requests.count == 1)
    }

    @Test(arguments: [
        (#"{"client_id":""}"#, AuthenticationError.Code.malformedResponse), ("{}", .malformedResponse),
        ("[]", .malformedResponse), (#"{"client_id":"a b"}"#, .malformedResponse),
        (#"{"client_id":"\#(String(repeating: "c", count: 4097))"}"#, .malformedResponse),
        (#"{"client_id":"a","client_secret":"\#(String(repeating: "s", count: 1025))"}"#, .malformedResponse),
        (#"{"client_id":"a","client_id":"b"}"#, .malformedResponse),
        (#"{"client_id":"a","client_secret":"s","client_secret_expires_at":1e99}"#, .malformedResponse),
        (#"{"client_id":"a","redirect_uris":["https://evil/callback"]}"#, .invalidResponse),
        (#"{"client_id":"a","redirect_uris":["http://localhost/callback"]}"#, .invalidResponse),
        (#"{"client_id":"a","redirect_uris":["http://127.0.0.1/callback"]}"#, .invalidResponse),
        (#"{"client_id":"a","redirect_uris":[]}"#, .invalidResponse),
        (#"{"client_id":"a","token_endpoint_auth_method":"private_key_jwt"}"#, .unsupported),
    ])
    func refusesAnotherClientThanItAskedFor(_ body: String, _ code: AuthenticationError.Code) async throws {
        let server = Server([(201, body)])
        try await expectError(code) { try await obtain(server) }
        #expect(try await obtain(server).clientID == "client-2")
    }

    @Test func returnsToAnyPortIfOnlyThatIsRegistered() async throws {
        let server = Server([(201, #"{"client_id":"a","redirect_uris":["http://127.0.0.1\#(Self.path)"]}"#)])
        #expect(try await obtain(server).redirectURI == (try .loopback(host: .ipv4, path: Self.path)))
    }

    /// Any port should pass if the address without a port is registered beside the fixed ones.
    @Test func knowsWhetherAnyPortShouldPass() async throws {
        let long = String(repeating: "c", count: 4096)
        let registration = try await obtain(Server([(201, #"{"client_id":"\#(long)"}"#)]))
        #expect(registration.takesAnyPort && registration.clientID.rawValue == long)
        let fixed = Server([(400, #"{"error":"invalid_redirect_uri"}"#)])
        #expect(try await !obtain(fixed, resource: "https://api/a").takesAnyPort)
    }

    @Test func showsTheInitialAccessTokenToItsServerAlone() async throws {
        let server = Server()
        var software = software
        software.initialAccessTokens = ["https://h/": "of another", "https://honest": "of another"]
        _ = try await obtain(server, software, resource: "https://api/a")
        software.initialAccessTokens["https://h"] = "initial"
        _ = try await obtain(server, software, resource: "https://api/b")
        #expect(server.requests.map(\.authorization) == [nil, "Bearer initial"])
    }

    /// Its redirect address is the same at all servers, so that the server must name itself in its answers.
    @Test(arguments: [(true, true, 0), (true, false, 0), (false, true, 1), (false, false, 0)])
    func isItsMetadataDocumentWhereThatIsSafe(_ namesItself: Bool, _ registers: Bool, _ count: Int) async throws {
        var software = software
        software.metadataDocument = "https://app.example/client.json"
        var members = #","client_id_metadata_document_supported":true"#
        if namesItself { members += #","authorization_response_iss_parameter_supported":true"# }
        let taking = Server(metadata: (registers ? Self.registering : "") + members)
        let client = try await obtain(taking, software)
        #expect(client.clientID == (count == 0 ? "https://app.example/client.json" : "client-1"))
        #expect(taking.requests.count == count)
        for document in ["http://app.example/client.json", "https://app.example", "https://app.example/"] {
            software.metadataDocument = document
            try await expectError(.invalidArgument) { try await obtain(taking, software) }
        }
    }

    @Test func registersWhereItsMetadataDocumentIsNotTaken() async throws {
        var software = software
        software.metadataDocument = "https://app.example/client.json"
        #expect(try await obtain(Server(), software).clientID == "client-1")
    }

    @Test func registersAtNoServerOfThisComputerThatARemoteOneNames() async throws {
        let server = Server(metadata: #","registration_endpoint":"http://127.0.0.1:1/register""#)
        try await expectError(.clientNotRegistered) { try await obtain(server) }
        #expect(server.requests.isEmpty)
    }
}
