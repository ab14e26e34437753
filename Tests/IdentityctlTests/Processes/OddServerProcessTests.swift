// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import IdentityClient
import IdentityResources
import IdentityTestSupport
import IdentityTesting
import LoopbackHTTP
import OAuthWire
import SystemSupport
import Testing

@testable import identityctl

/// Servers as they are. A sign-in at each ends in a token, or its last line names one command that leads to a token; where the
/// server lies or is silent, it ends in a refusal, and no token leaves.
///
/// Servers that let a client poll are in `MCPStreamProcessTests`.
@Suite(.timeLimit(.minutes(1)))
struct OddServerProcessTests {
    private let setup: ToolSetup
    private let variables: [String: String]

    init() throws {
        setup = try ToolSetup()
        setup.provider.settings.resource = TestIdentityProvider.Resource(scopes: ["read"])
        setup.provider.settings.registersClients = true
        variables = [
            "HOME": setup.directory.path, "XDG_RUNTIME_DIR": setup.directory.path, "DISPLAY": ":99",
            "IDENTITYCTL_CACHE": "file:\(setup.directory.path)/cache", "IDENTITYCTL_BROWSER": BrowserStandIn.name,
        ]
    }

    private func run(_ arguments: String...) async throws -> Tool.Outcome { try await Tool.run(arguments, variables) }

    private func visited(_ tool: Tool) async throws -> Tool.Outcome {
        try await ScriptedBrowser(provider: nil).visit(try await tool.shownAddress())
        return try await tool.outcome()
    }

    /// Runs a command in whose browser a person signs in.
    private func signingIn(_ arguments: String...) async throws -> Tool.Outcome {
        try await visited(Tool(arguments, variables))
    }

    private func count(_ endpoint: TestIdentityProvider.Endpoint) -> Int { setup.provider.count(of: endpoint) }

    /// Whether the sign-in for an address gives a token of a provider.
    private func hasToken(_ url: String, of provider: TestIdentityProvider? = nil) async throws -> Bool {
        let token = try await run("token", "--resource", url)
        #expect(token.status == 0, "\(token)")
        return (provider ?? setup.provider).accepts(accessToken: String(token.output.dropLast()))
    }

    /// The server of a test: an API, and what it publishes about itself and about the server of its tokens.
    ///
    /// - Parameter answer: Returns the answer to a request, from the origin; `nil` for 404.
    private func server(
        _ answer: @escaping @Sendable (LoopbackRequest, String) -> LoopbackResponse?
    ) throws -> ResourceServer {
        let own = Shared<ResourceServer?>(nil)
        let server = try ResourceServer { request in
            answer(request, own.value?.origin ?? "") ?? LoopbackResponse(status: 404)
        }
        own.withLock { $0 = server }
        return server
    }

    private static let resourcePlace = "/.well-known/oauth-protected-resource"
    private static let serverPlace = "/.well-known/oauth-authorization-server"

    private static func document(_ resource: String, at issuer: String) -> LoopbackResponse {
        .json(#"{"resource":"\#(resource)","authorization_servers":["\#(issuer)"],"scopes_supported":["read"]}"#)
    }

    /// The provider's metadata under another issuer.
    private func metadata(_ issuer: String) async throws -> LoopbackResponse {
        let place = try #require(URL(string: setup.issuer + "/.well-known/openid-configuration"))
        let (_, body) = try await CurlTransport().send(HTTPRequest(.get, to: place, headerFields: [:]), body: nil)
        var json = try JSONObject(parsing: body)
        json["issuer"] = .string(issuer)
        return .json(json.line)
    }

    private func visit(_ tool: Tool, after before: String? = nil) async throws {
        let address = try await tool.poll("a page") { tool.openedAddress.flatMap { $0 == before ? nil : $0 } }
        try await ScriptedBrowser(provider: nil).visit(try #require(URL(string: address)))
    }

    /// Types a message that each server answers, at the latest after a sign-in.
    private func answer(_ bridge: Tool, _ id: Int) async throws -> JSONObject {
        try bridge.type(#"{"jsonrpc":"2.0","id":\#(id),"method":"x"}"#)
        return try await bridge.answer(id)
    }

    // MARK: - A token

    /// The server forgets its clients. The bridge finds that out at a refresh, and registers anew before the page.
    @Test func registersAnewAtOneThatForgets() async throws {
        let url = setup.provider.resourceAddress
        #expect(try await signingIn("login", "--resource", url).status == 0)
        let first = try await run("registration").output
        setup.provider.failAlways(.token, with: .refusal("invalid_client", status: 401))
        #expect(try await run("token", "--resource", url, "--force-refresh").status != 0)
        let examined = try await run("doctor", url)
        #expect(examined.status == 2 && examined.output.contains("did not know any more"), "\(examined)")
        setup.provider.failNext(.resource, with: .refusal("invalid_token", status: 401))
        let bridge = try Tool(["mcp", url], variables)
        try bridge.type(#"{"id":1,"method":"x"}"#)
        _ = try await bridge.shownAddress()
        #expect(count(.registration) == 2)
        setup.provider.failAlways(.token, with: nil)
        try await visit(bridge)
        #expect(try await bridge.answer(1).object("error")?.string("message")?.contains("no method, result") == true)
        #expect(try await run("registration").output != first)
        #expect(try await run("doctor", url).status == 0)
    }

    /// The page of the server alone says that it does not know the client.
    @Test func namesTheWayOutIfOnlyThePageSaysThatItForgot() async throws {
        let url = setup.provider.resourceAddress
        #expect(try await signingIn("login", "--resource", url).status == 0)
        #expect(try await run("logout", "--resource", url).status == 0)
        let late = try await run("login", "--resource", url, "--timeout", "4")
        #expect(late.status == 6 && late.errors.contains("identityctl registration remove \(url)"), "\(late)")
        let last = try #require(late.errorLines.last)
        let advised = last[try #require(last.firstRange(of: "identityctl ")).lowerBound...]
        let words = advised.replacing("identityctl ", with: "\(try Person.program.shellWord) ")
        #expect(try await visited(Tool(shell: String(words), variables)).status == 0)
        #expect(count(.registration) == 2)
        #expect(try await hasToken(url))
    }

    /// The API names another server than before.
    @Test func namesTheServerToWhichOneMoved() async throws {
        let url = setup.provider.resourceAddress
        #expect(try await signingIn("login", "--resource", url).status == 0)
        let next = try ToolSetup()
        next.provider.settings.resource = TestIdentityProvider.Resource(scopes: ["read"])
        next.provider.settings.resource?.identifier = url
        next.provider.settings.registersClients = true
        setup.provider.settings.resource?.authorizationServers = [next.issuer]
        setup.provider.failAlways(.token, with: .refusal("invalid_grant"))
        let moved = try await run("login", "--resource", url)
        #expect(moved.status == 5 && next.provider.count(of: .registration) == 0, "\(moved)")
        let line = try #require(moved.errorLines.last).trimmingPrefix("Only if that is right, run: ")
        #expect(try await visited(Tool(advised: line, variables)).status == 0)
        #expect(try await hasToken(url, of: next.provider))
    }

    @Test func namesTheCommandAfterALimit() async throws {
        let url = setup.provider.resourceAddress
        setup.provider.failNext(.registration, with: .throttled(retryAfter: .seconds(1)))
        let limited = try await run("login", "--resource", url, "--issuer", setup.issuer)
        #expect(limited.status == 3, "\(limited)")
        let line = try #require(limited.errorLines.last).trimmingPrefix("After that time, run: ")
        #expect(try await visited(Tool(advised: line, variables)).status == 0)
        #expect(try await hasToken(url))
    }

    /// A web application answers the first place of the metadata with its page; and an issuer is spelled with a slash that its
    /// metadata do not have.
    @Test(arguments: [true, false]) func goesOnBesidePagesAndASlash(hasPages: Bool) async throws {
        setup.provider.settings.namesIssuerInResponse = false
        let published = Shared<LoopbackResponse?>(nil)
        let server = try server { request, origin in
            switch request.path {
            case Self.resourcePlace + "/mcp": Self.document(origin + "/mcp", at: hasPages ? origin : origin + "/")
            case Self.serverPlace where hasPages:
                LoopbackResponse(status: 200, text: "<!doctype html>", type: "text/html")
            case Self.serverPlace, "/.well-known/openid-configuration": published.value
            default: nil
            }
        }
        let metadata = try await metadata(server.origin)
        published.withLock { $0 = metadata }
        setup.provider.settings.resource?.identifier = server.origin + "/mcp"
        let login = try await signingIn("login", "--resource", server.origin + "/mcp")
        #expect(login.status == 0, "\(login)")
        #expect(try await hasToken(server.origin + "/mcp"))
    }

    /// Only the answer to a message names the document.
    @Test func asksOneByAMessageThatDemandsNothingBefore() async throws {
        let issuer = setup.issuer
        let server = try server { request, origin in
            switch (request.method, request.path) {
            case ("POST", "/mcp"): .unauthorized(#"Bearer resource_metadata="\#(origin)/gateway/document""#)
            case ("GET", "/gateway/document"): Self.document(origin + "/mcp", at: issuer)
            default: LoopbackResponse(status: 405)
            }
        }
        let url = server.origin + "/mcp"
        setup.provider.settings.resource?.identifier = url
        let alone = try Tool(["mcp", url], variables.merging(["DISPLAY": "", "IDENTITYCTL_BROWSER": ""]) { $1 })
        let text = try await answer(alone, 1).object("error")?.string("message") ?? ""
        #expect(server.requests.isEmpty && text.hasSuffix("run: identityctl login --resource \(url) --mcp"), "\(text)")
        #expect(try await run("login", "--resource", url).errors.contains("does not say who issues its tokens"))
        let line = text[try #require(text.firstRange(of: "identityctl ")).lowerBound...]
        #expect(try await visited(Tool(advised: line, variables)).status == 0)
        // The next search asks by a message, too.
        #expect(try await run("doctor", url).status == 0)
        #expect(try await hasToken(url))
    }

    /// A sign-in for the whole host is known, and one of its tenants has a server of its own: its 401 leads there.
    @Test func keepsTwoTenantsApart() async throws {
        let next = try ToolSetup()
        next.provider.settings.resource = TestIdentityProvider.Resource(scopes: ["read"])
        next.provider.settings.registersClients = true
        let (issuer, other) = (setup.issuer, next.issuer)
        let (provider, bobs) = (setup.provider, next.provider)
        let server = try server { request, origin in
            switch request.path {
            case Self.resourcePlace: return Self.document(origin, at: issuer)
            case Self.resourcePlace + "/bob/mcp": return Self.document(origin + "/bob/mcp", at: other)
            case "/alice/mcp", "/bob/mcp":
                let isBobs = request.path == "/bob/mcp"
                let token = request.headers["Authorization"]?.dropFirst("Bearer ".count) ?? ""
                let place = origin + Self.resourcePlace + (isBobs ? "/bob/mcp" : "")
                guard (isBobs ? bobs : provider).accepts(accessToken: String(token)) else {
                    return .unauthorized(#"Bearer resource_metadata="\#(place)""#)
                }
                return request.method == "POST"
                    ? .json(#"{"jsonrpc":"2.0","id":1,"result":{}}"#) : LoopbackResponse(status: 405)
            default: return nil
            }
        }
        provider.settings.resource?.identifier = server.origin
        bobs.settings.resource?.identifier = server.origin + "/bob/mcp"
        for tenant in ["/alice/mcp", "/bob/mcp"] {
            let bridge = try Tool(["mcp", server.origin + tenant], variables)
            try bridge.type(#"{"jsonrpc":"2.0","id":1,"method":"x"}"#)
            try await visit(bridge)
            #expect(bridge.question?.contains(tenant == "/bob/mcp" ? server.origin + tenant : server.origin) == true)
            #expect(try await bridge.answer(1)["result"] != nil)
        }
        // Each has tokens of its own from now on.
        #expect(try await hasToken(server.origin + "/alice/mcp"))
        #expect(try await hasToken(server.origin + "/bob/mcp", of: bobs))
    }

    /// Other programs have the ports to which the browser comes back.
    @Test func takesAnotherPortIfTheUsualOnesAreTaken() async throws {
        let ports: [UInt16] = [29_871, 29_872]
        let others = try ports.map { try LoopbackServer.start(hosts: [.ipv4], port: $0) { _ in .dropped } }
        defer { for other in others { other.close() } }
        let url = setup.provider.resourceAddress
        let login = try await signingIn(
            "login",
            "--resource",
            url,
            "--issuer",
            setup.issuer,
            "--redirect-ports",
            "29871-29872"
        )
        #expect(login.status == 0 && login.errors.contains("one of the ports 29871 to 29872"), "\(login)")
        #expect(try await hasToken(url))
    }

    // MARK: - A refusal

    /// The words of a lying server.
    enum Lie: CaseIterable {
        /// The metadata of the named server are another server's.
        case issuer
        /// The document is about another API.
        case resource
    }

    @Test(arguments: Lie.allCases) func believesNoLie(lie: Lie) async throws {
        let published = Shared<LoopbackResponse?>(nil)
        let server = try server { request, origin in
            switch request.path {
            case Self.resourcePlace + "/mcp":
                Self.document(lie == .resource ? "https://honest.example/mcp" : origin + "/mcp", at: origin)
            case Self.serverPlace: published.value
            default: nil
            }
        }
        let honest = "https://honest.example"
        let metadata = try await metadata(lie == .issuer ? honest : server.origin)
        published.withLock { $0 = metadata }
        let url = server.origin + "/mcp"
        let login = try await run("login", "--resource", url)
        #expect(login.status == 5 && login.errors.contains("'\(honest)\(lie == .resource ? "/mcp" : "")'"), "\(login)")
        let bridge = try Tool(["mcp", url], variables)
        let text = try await answer(bridge, 1).object("error")?.string("message") ?? ""
        #expect(text.contains(honest) && text.contains("another"), "\(text)")
        #expect([.registration, .authorization, .token].allSatisfy { count($0) == 0 })
        #expect(server.requests.allSatisfy { $0.headers["Authorization"] == nil })
    }

    @Test func endsInTimeWhereOneIsSilent() async throws {
        let server = try ScriptedServer { _ in [.stall] }
        defer { server.close() }
        let url = "http://127.0.0.1:\(server.port)/mcp"
        let login = try await run("login", "--resource", url, "--timeout", "1")
        #expect(login.status == 3 && login.errors.contains("did not answer within 1 s"), "\(login)")
        let bridge = try Tool(["mcp", url], variables.merging(["IDENTITYCTL_TIMEOUT": "1"]) { $1 })
        let text = try await answer(bridge, 1).object("error")?.string("message") ?? ""
        #expect(text.contains("did not answer within 1 s"), "\(text)")
        #expect(server.requests.allSatisfy { $0.values("Authorization").isEmpty })
    }
}
