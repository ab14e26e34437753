// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient
import IdentityResources
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Synchronization
import Testing

/// The client scenarios of the Model Context Protocol's conformance suite (`auth/…`, revision 2026-07-28): sign-ins for an API at
/// a server that does not know the program.
@Suite(.timeLimit(.minutes(1)))
struct AuthorizationModuleTests {
    private static let resource = "https://rs.test/mcp"

    private func signIn(_ server: ScenarioServer) -> ResourceSignIn {
        let software = ClientSoftware(id: "com.example.agent", name: "Agent")
        var signIn = ResourceSignIn(Self.resource, software: software, cache: server.cache)
        signIn.transport = server
        signIn.interaction = .asking { _, _ in true }
        signIn.configure = {
            $0.browser = server
            $0.redirectReceiver = server.receiver
        }
        return signIn
    }

    /// Signs in, and calls the API once.
    @discardableResult
    private func call(_ server: ScenarioServer, _ signIn: ResourceSignIn? = nil) async throws -> Int {
        let client = try await (signIn ?? self.signIn(server)).client()
        return try await client.get(try #require(URL(string: Self.resource))).response.status.code
    }

    private func refused(_ server: ScenarioServer, _ code: AuthenticationError.Code) async throws {
        _ = try await expectError(code) { try await call(server) }
        #expect(server.count("/token") == 0)
    }

    private static let wellKnown = "/.well-known/oauth-protected-resource"

    @Test func test_metadata_default() async throws {
        let server = ScenarioServer()
        #expect(try await call(server) == 200)
        #expect(server.count(Self.wellKnown) == 0 && server.count(Self.wellKnown + "/mcp") == 1)
    }

    @Test func test_metadata_var1() async throws {
        let server = ScenarioServer {
            $0.namesMetadata = false
            $0.serverMetadata = "/.well-known/openid-configuration"
        }
        #expect(try await call(server) == 200)
    }

    @Test func test_metadata_var2() async throws {
        let server = ScenarioServer {
            $0.namesMetadata = false
            $0.resourceMetadata = Self.wellKnown
            $0.tenant = "/tenant1"
            $0.serverMetadata = "/.well-known/oauth-authorization-server/tenant1"
        }
        #expect(try await call(server) == 200 && server.count("/.well-known/oauth-authorization-server") == 0)
    }

    @Test func test_metadata_var3() async throws {
        let server = ScenarioServer {
            $0.resourceMetadata = "/custom/metadata/location.json"
            $0.tenant = "/tenant1"
            $0.serverMetadata = "/tenant1/.well-known/openid-configuration"
        }
        #expect(try await call(server) == 200 && server.count("/.well-known/oauth-authorization-server") == 0)
    }

    /// A document has one redirect address for all servers. It is used at a server that names itself in its answers, and at one that
    /// registers no program.
    @Test(arguments: [(names: true, registers: true), (true, false), (false, false), (false, true)])
    func test_basic_cimd(names: Bool, registers: Bool) async throws {
        let server = ScenarioServer {
            ($0.takesDocuments, $0.announcesIssuer, $0.registers) = (true, names, registers)
            $0.issuerInAnswer = names ? "https://as.test" : nil
        }
        var signIn = signIn(server)
        signIn.software.metadataDocument = "https://client.test/agent.json"
        #expect(try await call(server, signIn) == 200)
        let isDocument = server.authorizations.map { $0["client_id"] } == ["https://client.test/agent.json"]
        #expect(isDocument == (names || !registers))
        #expect(server.count("/register") == (isDocument ? 0 : 1))
    }

    @Test func test_scope_from_www_authenticate() async throws {
        let server = ScenarioServer {
            $0.challengedScope = "mcp:basic"
            $0.publishedScopes = ["mcp:basic", "mcp:read", "mcp:write"]
        }
        #expect(try await call(server) == 200 && server.authorizations.map { $0["scope"] } == ["mcp:basic"])
    }

    @Test func test_scope_from_scopes_supported() async throws {
        let server = ScenarioServer { $0.publishedScopes = ["mcp:basic", "mcp:read"] }
        #expect(try await call(server) == 200)
        #expect(Set((server.authorizations.first?["scope"] ?? "").split(separator: " ")) == ["mcp:basic", "mcp:read"])
    }

    @Test func test_scope_omitted_when_undefined() async throws {
        let server = ScenarioServer()
        #expect(try await call(server) == 200 && server.authorizations.first?.keys.contains("scope") == false)
    }

    @Test func test_scope_step_up() async throws {
        let server = ScenarioServer { $0.challengedScope = "mcp:basic" }
        let client = try await signIn(server).client()
        server.change { $0.demandedScope = "mcp:write" }
        let (response, _) = try await client.get(try #require(URL(string: Self.resource)))
        #expect(response.status == .ok && server.authorizations.count == 2)
        let asked = (server.authorizations.last?["scope"] ?? "").split(separator: " ")
        #expect(Set(asked) == ["mcp:basic", "mcp:write"])
    }

    @Test func test_scope_retry_limit() async throws {
        let server = ScenarioServer { $0.challengedScope = "mcp:basic" }
        let client = try await signIn(server).client()
        server.change {
            $0.demandedScope = "mcp:admin"
            $0.neverGrants = "mcp:admin"
        }
        _ = try await expectError(.insufficientScope) { try await client.get(try #require(URL(string: Self.resource))) }
        #expect(server.authorizations.count == 4)
    }

    private func authenticates(_ method: String) async throws -> (form: [String: String], authorization: String?) {
        let server = ScenarioServer { $0.registeredMethod = method }
        #expect(try await call(server) == 200)
        return try #require(server.tokenRequests.first)
    }

    @Test func test_token_endpoint_auth_basic() async throws {
        let (form, authorization) = try await authenticates("client_secret_basic")
        #expect(authorization == "Basic " + Data("client:secret".utf8).base64EncodedString())
        #expect(form["client_secret"] == nil && form["client_id"] == nil)
    }

    @Test func test_token_endpoint_auth_post() async throws {
        let (form, authorization) = try await authenticates("client_secret_post")
        #expect(authorization == nil && form["client_secret"] == "secret" && form["client_id"] == "client")
    }

    @Test func test_token_endpoint_auth_none() async throws {
        let (form, authorization) = try await authenticates("none")
        #expect(authorization == nil && form["client_secret"] == nil && form["client_id"] == "client")
    }

    @Test func test_pre_registration() async throws {
        let server = ScenarioServer { $0.registers = false }
        var signIn = signIn(server)
        signIn.clientID = "by-hand"
        signIn.configure = {
            $0.browser = server
            $0.redirectReceiver = server.receiver
            $0.clientSecret = ClientSecret(rawValue: "given")
        }
        #expect(try await call(server, signIn) == 200 && server.count("/register") == 0)
        #expect(server.authorizations.map { $0["client_id"] } == ["by-hand"])
    }

    @Test func test_resource_mismatch() async throws {
        let server = ScenarioServer { $0.identifier = "https://evil.test/mcp" }
        try await refused(server, .invalidResponse)
        #expect(server.authorizations.isEmpty)
    }

    @Test func test_offline_access_scope() async throws {
        let server = ScenarioServer {
            $0.publishedScopes = ["mcp:basic"]
            $0.serverScopes = ["mcp:basic", "offline_access"]
        }
        #expect(try await call(server) == 200)
        #expect(server.authorizations.first?["scope"]?.contains("offline_access") == true)
    }

    @Test func test_offline_access_not_supported() async throws {
        let server = ScenarioServer {
            $0.publishedScopes = ["mcp:basic"]
            $0.serverScopes = ["mcp:basic"]
        }
        #expect(try await call(server) == 200 && server.authorizations.first?["scope"] == "mcp:basic")
    }

    /// A new server is not followed before the program names it.
    @Test func test_authorization_server_migration() async throws {
        let server = ScenarioServer()
        var signIn = signIn(server)
        let client = try await signIn.client()
        server.change { $0.tenant = "/second" }
        let url = try #require(URL(string: Self.resource))
        let error = try await expectError(.untrustedAuthority) { try await client.get(url) }
        #expect(error.message.contains("https://as.test/second") && server.authorizations.count == 1)
        signIn.issuer = "https://as.test/second"
        try await client.application.remove(client.account)
        #expect(try await call(server, signIn) == 200)
        #expect(server.count("/register") == 1 && server.count("/second/register") == 1)
        #expect(server.authorizations.map { $0["client_id"] } == ["client", "client-second"])
    }

    @Test func test_iss_supported() async throws {
        let server = ScenarioServer {
            $0.announcesIssuer = true
            $0.issuerInAnswer = "https://as.test"
        }
        #expect(try await call(server) == 200)
    }

    @Test func test_iss_not_advertised() async throws {
        #expect(try await call(ScenarioServer()) == 200)
    }

    @Test func test_iss_supported_missing() async throws {
        try await refused(ScenarioServer { $0.announcesIssuer = true }, .invalidResponse)
    }

    @Test(arguments: [true, false]) func test_iss_wrong_issuer(isError: Bool) async throws {
        let server = ScenarioServer {
            $0.announcesIssuer = true
            $0.issuerInAnswer = "https://evil.example.com"
            $0.answersWithError = isError
        }
        let error = try await expectError(.invalidResponse) { try await call(server) }
        #expect(server.count("/token") == 0 && !error.message.contains("planted"))
    }

    @Test func test_iss_unexpected() async throws {
        try await refused(ScenarioServer { $0.issuerInAnswer = "https://evil.example.com" }, .invalidResponse)
    }

    @Test func test_iss_normalized() async throws {
        let server = ScenarioServer {
            $0.announcesIssuer = true
            $0.issuerInAnswer = "https://as.test/"
        }
        try await refused(server, .invalidResponse)
    }

    @Test func test_metadata_issuer_mismatch() async throws {
        let server = ScenarioServer { $0.metadataIssuer = "https://evil.example.com" }
        try await refused(server, .invalidResponse)
        #expect(server.authorizations.isEmpty)
    }
}

/// An API at `https://rs.test/mcp` and its server at `https://as.test`, with the differences of a scenario. It is the browser as
/// well: the person agrees at once.
private final class ScenarioServer: HTTPTransport, BrowserLauncher {
    struct Settings: Sendable {
        var namesMetadata = true
        var resourceMetadata = "/.well-known/oauth-protected-resource/mcp"
        var identifier = "https://rs.test/mcp"
        var challengedScope: String?
        var publishedScopes: [String]?
        var demandedScope: String?
        var neverGrants = ""
        var tenant = ""
        var serverMetadata: String?
        var metadataIssuer: String?
        var serverScopes: [String]?
        var takesDocuments = false
        var registers = true
        var registeredMethod = "none"
        var announcesIssuer = false
        var issuerInAnswer: String?
        var answersWithError = false
    }

    fileprivate struct State {
        var settings = Settings()
        var paths: [String] = []
        var authorizations: [[String: String]] = []
        var tokenRequests: [(form: [String: String], authorization: String?)] = []
        var granted: [String: (scopes: Set<Substring>, tenant: String)] = [:]
    }

    let cache = InMemoryTokenCache()
    let receiver = InMemoryRedirectReceiver()
    private let state: Mutex<State>

    init(_ change: (inout Settings) -> Void = { _ in }) {
        var state = State()
        change(&state.settings)
        self.state = Mutex(state)
    }

    func change(_ change: @Sendable (inout Settings) -> Void) { state.withLock { change(&$0.settings) } }
    func count(_ path: String) -> Int { state.withLock { $0.paths.count { $0 == path } } }
    var authorizations: [[String: String]] { state.withLock { $0.authorizations } }
    var tokenRequests: [(form: [String: String], authorization: String?)] { state.withLock { $0.tokenRequests } }

    func send(_ request: HTTPRequest, body: [UInt8]?) async throws -> (HTTPResponse, [UInt8]) {
        let path = request.path ?? ""
        return state.withLock { state in
            state.paths.append(path)
            return request.authority == "rs.test"
                ? state.resource(path, request) : state.server(path, request, body ?? [])
        }
    }

    func open(_ url: URL) async throws {
        let items = try FormURLEncoded.decode(String(url.absoluteString.split(separator: "?")[1]))
        let asked = Dictionary(items) { first, _ in first }
        let settings = state.withLock { state in
            state.authorizations.append(asked)
            return state.settings
        }
        var answer = [("state", asked["state"] ?? "")]
        answer +=
            settings.answersWithError
            ? [("error", "access_denied"), ("error_description", "planted")] : [("code", asked["scope"] ?? "none")]
        if let issuer = settings.issuerInAnswer { answer.append(("iss", issuer)) }
        let back = try FormURLEncoded.appending(answer, to: asked["redirect_uri"] ?? "")
        _ = try await receiver.deliver(try #require(URL(string: back)))
    }
}

extension ScenarioServer.State {
    private func json(_ members: [(String, JSONValue?)], _ status: HTTPResponse.Status = .ok) -> (HTTPResponse, [UInt8])
    {
        let object = JSONObject(members.compactMap { name, value in value.map { (name, $0) } })
        return (HTTPResponse(status: status), object.serialized())
    }

    private var issuer: String { "https://as.test" + settings.tenant }

    mutating func resource(_ path: String, _ request: HTTPRequest) -> (HTTPResponse, [UInt8]) {
        if path == settings.resourceMetadata {
            return json([
                ("resource", .string(settings.identifier)), ("authorization_servers", .strings([issuer])),
                ("scopes_supported", settings.publishedScopes.map { .strings($0) }),
            ])
        }
        guard path == "/mcp" else { return (HTTPResponse(status: .notFound), []) }
        func challenge(_ status: HTTPResponse.Status, _ items: [(String, String?)]) -> (HTTPResponse, [UInt8]) {
            let place = settings.namesMetadata ? "https://rs.test" + settings.resourceMetadata : nil
            let given = (items + [("resource_metadata", place)]).compactMap { name, value in value.map { (name, $0) } }
            let text = given.map { "\($0.0)=\"\($0.1)\"" }.joined(separator: ", ")
            return (HTTPResponse(status: status, headerFields: [.wwwAuthenticate: "Bearer \(text)"]), [])
        }
        let token = (request.headerFields[.authorization] ?? "").dropFirst("Bearer ".count)
        guard let granted = granted[String(token)], granted.tenant == settings.tenant else {
            return challenge(.unauthorized, [("scope", settings.challengedScope)])
        }
        if let demanded = settings.demandedScope, !granted.scopes.contains(demanded[...]) {
            return challenge(.forbidden, [("error", "insufficient_scope"), ("scope", demanded)])
        }
        return json([])
    }

    mutating func server(_ path: String, _ request: HTTPRequest, _ body: [UInt8]) -> (HTTPResponse, [UInt8]) {
        let tenant = settings.tenant
        switch path {
        case settings.serverMetadata ?? "/.well-known/oauth-authorization-server" + tenant:
            return json([
                ("issuer", .string(settings.metadataIssuer ?? issuer)),
                ("authorization_endpoint", .string(issuer + "/authorize")),
                ("token_endpoint", .string(issuer + "/token")),
                ("registration_endpoint", settings.registers ? .string(issuer + "/register") : nil),
                ("client_id_metadata_document_supported", .bool(settings.takesDocuments)),
                ("code_challenge_methods_supported", .strings(["S256"])),
                ("response_types_supported", .strings(["code"])),
                ("scopes_supported", settings.serverScopes.map { .strings($0) }),
                ("authorization_response_iss_parameter_supported", settings.announcesIssuer ? .bool(true) : nil),
            ])
        case tenant + "/register":
            let isSecret = settings.registeredMethod != "none"
            return json(
                [
                    ("client_id", .string("client" + tenant.replacing("/", with: "-"))),
                    ("client_secret", isSecret ? .string("secret") : nil),
                    ("token_endpoint_auth_method", .string(settings.registeredMethod)),
                ],
                .created
            )
        case tenant + "/token":
            let items = (try? FormURLEncoded.decode(String(decoding: body, as: UTF8.self))) ?? []
            let form = Dictionary(items) { first, _ in first }
            tokenRequests.append((form, request.headerFields[.authorization]))
            let scopes = Set((form["code"] ?? "").split(separator: " ")).subtracting([settings.neverGrants[...]])
            let token = "token-\(granted.count)"
            granted[token] = (scopes, tenant)
            return json([
                ("access_token", .string(token)), ("token_type", .string("Bearer")), ("expires_in", .integer(3600)),
                ("scope", .string(scopes.joined(separator: " "))),
            ])
        default: return (HTTPResponse(status: .notFound), [])
        }
    }
}
