// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import LoopbackHTTP
import OAuthWire
import Synchronization
import SystemSupport
import Testing

@testable import IdentityResources

/// The metadata of an API, found from its address alone.
///
/// - SeeAlso: RFC 9728
@Suite(.timeLimit(.minutes(1)))
struct ProtectedResourceTests {
    /// Answers at addresses, which also notes what was asked.
    final class Places: HTTPTransport {
        struct Answer: Sendable {
            var status = 200
            var challenge: String?
            var body = ""
        }

        private let answers: [String: Answer]
        private let noted = Mutex<[HTTPRequest]>([])

        init(_ answers: [String: Answer]) {
            self.answers = answers
        }

        var asked: [String] { noted.withLock { $0.map(Self.address) } }
        var requests: [HTTPRequest] { noted.withLock { $0 } }

        private static func address(_ request: HTTPRequest) -> String {
            (request.method == .get ? "" : "\(request.method) ")
                + "\(request.scheme ?? "")://\(request.authority ?? "")\(request.path ?? "")"
        }

        func send(_ request: HTTPRequest, body: [UInt8]?) async throws -> (HTTPResponse, [UInt8]) {
            noted.withLock { $0.append(request) }
            let answer = answers[Self.address(request)] ?? Answer(status: 404)
            var response = HTTPResponse(status: .init(code: answer.status))
            response.headerFields[.wwwAuthenticate] = answer.challenge
            if answer.status == 302 { response.headerFields[.location] = "https://h/elsewhere" }
            return (response, Array(answer.body.utf8))
        }
    }

    /// Answers to calls whose bodies have no end, or that do not begin.
    private struct Endless: StreamingHTTPTransport {
        struct Exchange: TransportExchange {
            let response: HTTPResponse

            func next() async throws -> [UInt8]? {
                Issue.record("The body is read.")
                return nil
            }
        }

        let places: Places
        let begins: Bool

        func send(_ request: HTTPRequest, body: [UInt8]?) async throws -> (HTTPResponse, [UInt8]) {
            try await places.send(request, body: body)
        }

        func open(_ request: HTTPRequest, body: (any TransportBody)?) async throws -> any TransportExchange {
            if !begins { try await Promise<Void>().value() }
            return Exchange(response: try await places.send(request, body: nil).0)
        }
    }

    private static let wellKnown = "https://h/.well-known/oauth-protected-resource"

    private static func document(_ resource: String, _ more: String = "") -> Places.Answer {
        Places.Answer(body: #"{"resource":"\#(resource)","authorization_servers":["https://as/"]\#(more)}"#)
    }

    @Test(arguments: [
        ("https://h/mcp", [wellKnown + "/mcp", wellKnown]),
        ("https://h/mcp/?a=b", [wellKnown + "/mcp/?a=b", wellKnown]),
        ("https://h", [wellKnown]), ("https://h/", [wellKnown]),
    ])
    func looksWhereTheAddressSays(_ address: String, _ places: [String]) async throws {
        let transport = Places([:])
        let error = try await expectError(.unsupported) {
            try await ProtectedResource.discover(at: address, transport: transport)
        }
        #expect(transport.asked == [address == "https://h" ? "https://h/" : address] + places)
        #expect(places.allSatisfy(error.message.contains))
        #expect(transport.requests.allSatisfy { $0.method == .get && $0.headerFields[.authorization] == nil })
    }

    /// A wrong path, and this computer by another name than the API's own.
    @Test(arguments: [
        ("https://h/mpc", 404, nil, "answers 404, and does not say who issues its tokens", "Check its path."),
        (
            "https://h/mcp", 200, nil, "h/mcp does not say who issues its tokens",
            "Configure the authority in place of it."
        ),
        (
            "http://127.0.0.1:1/mcp", 401, #"Bearer resource_metadata="http://localhost:1/m""#,
            "'http://localhost:1/m' (not asked: this computer by another name or port)",
            "Call it by the name that its answer has."
        ),
        (
            "https://h/mcp", 401, #"Bearer resource_metadata="http://localhost:1/m""#, "neither https on another",
            "Configure the authority in place of it."
        ),
    ])
    func saysWhatIsWrongWithTheAddress(
        _ address: String,
        _ status: Int,
        _ challenge: String?,
        _ reason: String,
        _ advice: String
    ) async throws {
        let transport = Places([address: Places.Answer(status: status, challenge: challenge)])
        do {
            _ = try await ProtectedResource.discover(at: address, transport: transport)
            Issue.record("It says nothing of the kind.")
        } catch let error as AuthenticationError {
            #expect(error.message.contains(reason) && error.message.hasSuffix(advice), "\(error.message)")
        }
    }

    @Test(arguments: [
        ("https://h/mcp", wellKnown + "/mcp", "https://h/mcp", true),
        ("https://h/mcp", wellKnown + "/mcp", "https://h/mcp/", false),
        ("https://h/mcp", wellKnown + "/mcp", "https://h", false),
        ("https://h/mcp", wellKnown + "/mcp", "https://H/mcp", false),
        ("https://h/mcp", wellKnown, "https://h", true), ("https://h/mcp", wellKnown, "https://h/", true),
        ("https://h/mcp", wellKnown, "https://h/mcp", true), ("https://h/mcp", wellKnown, "https://h/other", false),
        ("https://h", wellKnown, "https://h/", true), ("https://h/", wellKnown, "https://h", true),
        ("https://h", wellKnown, "https://evil", false),
    ])
    func believesADocumentAboutTheAddressAlone(
        _ address: String,
        _ place: String,
        _ resource: String,
        _ isBelieved: Bool
    ) async throws {
        let transport = Places([place: Self.document(resource)])
        guard isBelieved else {
            let error = try await expectError(.invalidResponse) {
                try await ProtectedResource.discover(at: address, transport: transport)
            }
            #expect(error.message.contains("'\(resource)'"))
            return
        }
        let found = try await ProtectedResource.discover(at: address, transport: transport)
        #expect(found.identifier == resource && found.authorizationServers == ["https://as/"])
        let authority = try found.authority()
        #expect(authority.resource == resource && authority.description == "https://as/")
    }

    @Test(arguments: [
        ("https://h/mcp/tools", "https://h/mcp/tools", true, true),
        ("https://h/mcp/tools", "https://h/mcp", true, false),
        ("https://h/mcp/tools", "https://h/mcp/", true, false), ("https://h/mcp/tools", "https://h", true, false),
        ("https://h/mcp/tools", "https://h/mc", false, false),
        ("https://h/mcp/tools", "https://h/mcp/tools/x", false, false),
        ("https://h/mcp/tools", "https://h:8443/mcp", false, false),
        ("https://h/mcp/tools", "https://h/mcp?x", false, false),
        ("https://h/mcp/../admin", "https://h/mcp", false, false),
        ("https://h/mcp/%2E%2e/admin", "https://h/mcp", false, false),
        ("https://h/mcp/..;/admin", "https://h/mcp", false, false),
    ])
    func believesANamedDocumentAboutAPathAbove(
        _ address: String,
        _ resource: String,
        _ isBelieved: Bool,
        _ isBelievedStrictly: Bool
    ) async throws {
        let named = "https://meta.example/document"
        let challenge = #"Basic realm="x", Bearer resource_metadata="\#(named)", scope="a b""#
        let transport = Places([
            address: Places.Answer(status: 401, challenge: challenge), named: Self.document(resource),
        ])
        for (isStrict, isBelieved) in [(false, isBelieved), (true, isBelievedStrictly)] {
            guard isBelieved else {
                try await expectError(.invalidResponse) {
                    try await ProtectedResource.discover(
                        at: address,
                        transport: transport,
                        requiresSameResource: isStrict
                    )
                }
                continue
            }
            let found = try await ProtectedResource.discover(
                at: address,
                transport: transport,
                requiresSameResource: isStrict
            )
            #expect(found.identifier == resource && found.scopes == ["a", "b"])
            // Nothing at the address above confirms it.
            #expect(found.place == address)
        }
        #expect(transport.asked.filter { !$0.hasPrefix(Self.wellKnown) } == [address, named, address, named])
    }

    /// A document that one tenant of a host names may speak for the host only if the host's own says the same.
    @Test(arguments: [
        (document("https://h"), "https://h"), (document("https://h/"), nil), (document("https://h/bob/mcp"), nil),
        (
            Places.Answer(body: #"{"resource":"https://h","authorization_servers":["https://as/","https://other"]}"#),
            nil
        ), (Places.Answer(body: #"{"resource":"https://h","authorization_servers":["https://other"]}"#), nil),
        (Places.Answer(status: 404), "https://h/alice/mcp"), (Places.Answer(status: 401), "https://h/alice/mcp"),
        (Places.Answer(body: "<html>"), "https://h/alice/mcp"), (Places.Answer(body: "{}"), "https://h/alice/mcp"),
    ])
    func asksTheAddressAboveWhetherItIsTrue(_ own: Places.Answer, _ place: String?) async throws {
        let (address, named) = ("https://h/alice/mcp", "https://h/alice/meta")
        let transport = Places([
            address + "?a=b": Places.Answer(status: 401, challenge: #"Bearer resource_metadata="\#(named)""#),
            named: Self.document("https://h"), Self.wellKnown: own,
        ])
        guard let place else {
            let error = try await expectError(.invalidResponse) {
                try await ProtectedResource.discover(at: address + "?a=b", transport: transport)
            }
            #expect(error.message.contains(Self.wellKnown))
            return
        }
        let found = try await ProtectedResource.discover(at: address + "?a=b", transport: transport)
        #expect(found.identifier == "https://h" && found.place == place)
        #expect(transport.asked == [address + "?a=b", named, Self.wellKnown])
    }

    /// The own place of the address above is asked once, also if the answer names it.
    @Test func believesTheOwnPlaceOfTheAddressAbove() async throws {
        let address = "https://h/alice/mcp"
        let challenge = #"Bearer resource_metadata="\#(Self.wellKnown)""#
        let transport = Places([
            address: Places.Answer(status: 401, challenge: challenge), Self.wellKnown: Self.document("https://h"),
        ])
        #expect(try await ProtectedResource.discover(at: address, transport: transport).place == "https://h")
        #expect(transport.asked == [address, Self.wellKnown])
    }

    @Test(arguments: [
        "http://h/m", "http://127.0.0.1/m", "https://localhost/m", "https://127.1/m", "https://[::ffff:127.0.0.1]/m",
        "https://foo.localhost/m", "file:///etc/passwd", "https://h/m#x",
    ])
    func asksTheOwnPlacesInsteadOfOneThatMayNotBeAsked(_ place: String) async throws {
        let address = "https://h/mcp"
        let challenge = Places.Answer(status: 401, challenge: #"Bearer resource_metadata="\#(place)", scope="a""#)
        let transport = Places([address: challenge, Self.wellKnown + "/mcp": Self.document(address)])
        let found = try await ProtectedResource.discover(at: address, transport: transport)
        #expect(found.identifier == address && found.scopes == ["a"])
        #expect(transport.asked == [address, Self.wellKnown + "/mcp"])
        let error = try await expectError(.unsupported) {
            try await ProtectedResource.discover(at: address, transport: Places([address: challenge]))
        }
        #expect(error.message.contains("'\(place)' (not asked"))
    }

    /// A server may answer a call without a token with a stream that has no end, or not at all.
    @Test(arguments: [true, false]) func waitsForNoMoreThanTheHeadOfAnAnswer(begins: Bool) async throws {
        let address = "https://h/mcp"
        let places = Places([
            address: Places.Answer(status: 401, challenge: #"Bearer scope="a""#),
            Self.wellKnown + "/mcp": Self.document(address, #","scopes_supported":["b"]"#),
        ])
        let transport = Endless(places: places, begins: begins)
        var discovery = try ResourceDiscovery(address, transport, requiresSameResource: false)
        if !begins { discovery.patience = .milliseconds(20) }
        #expect(try await discovery.run().scopes == (begins ? ["a"] : ["b"]))
    }

    /// Only a message makes the API name its document.
    @Test func asksByAMessageWhereACallSaysNothing() async throws {
        let (address, place) = ("https://h/mcp", "https://h/gateway/document")
        let challenge = Places.Answer(status: 401, challenge: #"Bearer resource_metadata="\#(place)""#)
        let transport = Places([
            address: Places.Answer(status: 405), "POST \(address)": challenge, place: Self.document(address),
        ])
        var discovery = try ResourceDiscovery(address, transport, requiresSameResource: false)
        _ = try await expectError(.unsupported) { [discovery] in try await discovery.run() }
        #expect(!transport.asked.contains("POST \(address)"))
        discovery.message = Array("{}".utf8)
        #expect(try await discovery.run().identifier == address)
        let request = try #require(transport.requests.last { $0.method == .post })
        #expect(request.headerFields[.authorization] == nil && request.headerFields[.contentType] == "application/json")
        // A call that says enough needs no message.
        let plain = Places([address: challenge, place: Self.document(address)])
        discovery = try ResourceDiscovery(address, plain, requiresSameResource: false)
        discovery.message = Array("{}".utf8)
        _ = try await discovery.run()
        #expect(plain.asked == [address, place])
    }

    @Test func asksAResourceOfThisComputerWhereItSays() async throws {
        let (address, place) = ("http://127.0.0.1:8000/mcp", "http://127.0.0.1:8000/meta")
        let transport = Places([
            address: Places.Answer(status: 401, challenge: #"DPoP resource_metadata="\#(place)""#),
            place: Places.Answer(
                body: #"{"resource":"\#(address)","authorization_servers":["http://127.0.0.1:9000"]}"#
            ),
        ])
        let found = try await ProtectedResource.discover(at: address, transport: transport)
        #expect(try found.authority().description == "http://127.0.0.1:9000")
    }

    @Test(arguments: [
        Places.Answer(status: 500), Places.Answer(status: 302), Places.Answer(body: "<html>"),
        Places.Answer(body: "{}"),
        Places.Answer(body: #"{"resource":"https://h/mcp"}"#),
        Places.Answer(body: #"{"resource":"https://h/mcp","authorization_servers":[]}"#),
        Places.Answer(body: #"{"resource":"https://h/mcp","authorization_servers":"https://as"}"#),
        Places.Answer(
            body: #"{"resource":"https://h/mcp","resource":"https://h/x","authorization_servers":["https://as"]}"#
        ),
    ])
    func goesOnWhereNothingCanBeRead(_ answer: Places.Answer) async throws {
        let transport = Places([Self.wellKnown + "/mcp": answer, Self.wellKnown: Self.document("https://h")])
        let found = try await ProtectedResource.discover(at: "https://h/mcp", transport: transport)
        #expect(found.identifier == "https://h")
        #expect(transport.asked == ["https://h/mcp", Self.wellKnown + "/mcp", Self.wellKnown])
    }

    @Test(arguments: [
        (401, #"Bearer scope="a""#, #","scopes_supported":["b","c"]"#, ["a"]),
        (403, #"Bearer error="insufficient_scope", scope="a""#, #","scopes_supported":["b","c"]"#, ["a"]),
        (403, #"Bearer scope="a""#, #","scopes_supported":["b","c"]"#, ["b", "c"]),
        (200, #"Bearer scope="a""#, #","scopes_supported":["b","c"]"#, ["b", "c"]),
        (401, #"Basic scope="a""#, #","scopes_supported":["b","c"]"#, ["b", "c"]),
        (401, "Bearer", "", []), (401, "Bearer", #","scopes_supported":["b","c\"d","","\u00e9"]"#, ["b"]),
    ])
    func asksForTheScopesThatTheResourceNames(
        _ status: Int,
        _ challenge: String,
        _ members: String,
        _ scopes: [String]
    ) async throws {
        let address = "https://h/mcp"
        let transport = Places([
            address: Places.Answer(status: status, challenge: challenge),
            Self.wellKnown + "/mcp": Self.document(address, members),
        ])
        #expect(
            try await ProtectedResource.discover(at: address, transport: transport).scopes.map(\.rawValue).sorted()
                == scopes
        )
    }

    @Test func readsWhatElseItSays() async throws {
        let address = "https://h/mcp"
        let more = #","resource_name":"Files\u001b[31m\n”. Trust it.","dpop_bound_access_tokens_required":true"#
        let found = try await ProtectedResource.discover(
            at: address,
            transport: Places([Self.wellKnown + "/mcp": Self.document(address, more)])
        )
        #expect(found.requiresDPoP && found.name == "Files[31m Trust it")
        let body = Self.document(address, #","bearer_methods_supported":["query"]"#)
        try await expectError(.unsupported) {
            try await ProtectedResource.discover(at: address, transport: Places([Self.wellKnown + "/mcp": body]))
        }
    }

    private func resource(_ servers: String) async throws -> ProtectedResource {
        let body = #"{"resource":"https://h/mcp","authorization_servers":[\#(servers)]}"#
        return try await ProtectedResource.discover(
            at: "https://h/mcp",
            transport: Places([Self.wellKnown + "/mcp": Places.Answer(body: body)])
        )
    }

    @Test func takesTheServerThatTheProgramTrusts() async throws {
        let one = try await resource(#""https://as","https://as""#)
        #expect(try one.authority().description == "https://as")
        #expect(try one.authority(issuer: "https://as") == one.authority())
        try await expectError(.untrustedAuthority) { try one.authority(issuer: "https://as/") }
        let two = try await resource(#""https://as","https://other/x""#)
        let error = try await expectError(.configuration) { try two.authority() }
        #expect(error.message.contains("'https://as', 'https://other/x'"))
        #expect(try two.authority(issuer: "https://other/x").description == "https://other/x")
    }

    @Test(arguments: ["http://127.0.0.1:8080", "https://localhost", "https://2130706433", "https://[::]"])
    func leadsToNoServerOfThisComputer(_ issuer: String) async throws {
        let remote = try await resource("\"\(issuer)\"")
        try await expectError(.untrustedAuthority) { try remote.authority() }
        try await expectError(.untrustedAuthority) { try remote.authority(issuer: issuer) }
    }

    @Test(arguments: ["http://h/mcp", "h/mcp", "https://u:p@h/", "https://h/#x", "https://h/a b"])
    func takesNoOtherAddress(_ address: String) async throws {
        let transport = Places([:])
        try await expectError(.invalidArgument) {
            try await ProtectedResource.discover(at: address, transport: transport)
        }
        #expect(transport.asked.isEmpty)
    }

    /// The token of one resource, whose redirects and neighbours do not get it.
    @Test func sendsTheTokenBelowTheResourceAlone() async throws {
        let setup = try TestSetup { $0.requiresOfflineAccess = false }
        let server = try ResourceServer { request in
            request.path == "/mcp/leave"
                ? .redirect(302, to: "/mcpx") : LoopbackResponse(status: 200, text: request.path)
        }
        let issuer = setup.provider.authority.description
        let place = server.origin + "/.well-known/oauth-protected-resource/mcp"
        let body =
            #"{"resource":"\#(server.origin)/mcp","authorization_servers":["\#(issuer)"],"scopes_supported":["api.read"]}"#
        let found = try await ProtectedResource.discover(
            at: server.origin + "/mcp",
            transport: Places([place: Places.Answer(body: body)])
        )
        let authority = try found.authority()
        let (application, result) = try await setup.signedIn(scopes: found.scopes) { $0.authority = authority }
        let client = try AuthenticatedClient(
            application: application,
            account: result.account,
            resource: found,
            transport: CurlTransport()
        )
        for path in ["/mcp", "/mcp/tools?x=y", "/mcp/leave"] { _ = try await client.get(server.url(path)) }
        #expect(server.authorizations == Array(repeating: "Bearer \(result.accessToken)", count: 3) + ["-"])
        for path in ["/", "/mcpx", "/mcp/../admin", "/mcp/%2e%2E/admin", "/mcp/..;/admin", "/mcp/..%5Cadmin"] {
            try await expectError(.invalidArgument) { try await client.get(server.url(path)) }
        }
        #expect(server.requests.map(\.path).last == "/mcpx")
        let other = try setup.application()
        #expect(throws: AuthenticationError.self) {
            try AuthenticatedClient(application: other, account: result.account, resource: found)
        }
    }

    @Test func readsAnAnswerThatTheProgramHas() async throws {
        var response = HTTPResponse(status: .unauthorized)
        response.headerFields[.wwwAuthenticate] = #"Bearer scope="a", resource_metadata="https://h/meta""#
        let transport = Places(["https://h/meta": Self.document("https://h/mcp")])
        let found = try await ProtectedResource.discover(at: "https://h/mcp", after: response, transport: transport)
        #expect(found.scopes == ["a"] && transport.asked == ["https://h/meta"])
    }
}
