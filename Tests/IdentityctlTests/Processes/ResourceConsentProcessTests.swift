// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityClient
import IdentityResources
import IdentityTestSupport
import IdentityTesting
import LoopbackHTTP
import OAuthWire
import Testing

@testable import identityctl

/// The question before a sign-in for an address: its answers, the requests before it, and the reach of the tokens.
@Suite(.timeLimit(.minutes(1)))
struct ResourceConsentProcessTests {
    private let setup: ToolSetup
    private let url: String
    private let variables: [String: String]

    init() throws {
        setup = try ToolSetup()
        setup.provider.settings.resource = TestIdentityProvider.Resource(scopes: ["read"])
        setup.provider.settings.registersClients = true
        setup.provider.add(TestIdentityProvider.Client(id: "usual"))
        url = setup.provider.resourceAddress
        variables = [
            "HOME": setup.directory.path, "XDG_RUNTIME_DIR": setup.directory.path, "DISPLAY": ":99",
            "IDENTITYCTL_CACHE": "file:\(setup.directory.path)/cache", "IDENTITYCTL_BROWSER": BrowserStandIn.name,
        ]
    }

    private func run(_ arguments: [String], _ more: [String: String] = [:]) async throws -> Tool.Outcome {
        try await Tool.run(arguments, variables.merging(more) { $1 })
    }

    private func signingIn(_ arguments: [String], _ more: [String: String] = [:]) async throws
        -> (Tool.Outcome, question: String?)
    {
        let tool = try Tool(arguments, variables.merging(more) { $1 })
        try await ScriptedBrowser(provider: nil).visit(try await tool.shownAddress())
        return (try await tool.outcome(), tool.question)
    }

    private func count(_ endpoint: TestIdentityProvider.Endpoint) -> Int { setup.provider.count(of: endpoint) }

    /// A client id says nothing about the server; a variable may be set for other servers; and the resource and the issuer must
    /// stand in one place.
    @Test(arguments: [
        (["--resource", "URL", "--client-id", "usual"], [:]),
        (["--resource", "URL"], ["IDENTITYCTL_CLIENT_ID": "usual"]),
        (["--resource", "URL"], ["IDENTITYCTL_ISSUER": "ISSUER"]),
        (["--resource", "URL"], ["IDENTITYCTL_ISSUER": "ISSUER", "IDENTITYCTL_CLIENT_ID": "usual"]),
        ([], ["IDENTITYCTL_RESOURCE": "URL", "IDENTITYCTL_ISSUER": "ISSUER", "IDENTITYCTL_CLIENT_ID": "usual"]),
    ])
    func answersNothingInThePersonsPlace(_ options: [String], _ more: [String: String]) async throws {
        let filled = { (text: String) in text == "URL" ? url : text == "ISSUER" ? setup.issuer : text }
        let (arguments, values) = (options.map(filled), more.mapValues(filled))
        let alone = try await run(["login", "--device-code"] + arguments, values)
        let advice = alone.errorLines.last ?? ""
        #expect(alone.status == 2 && advice.contains("identityctl login "), "\(alone)")
        #expect(advice.contains(" --resource \(url)") && advice.contains(" --issuer \(setup.issuer)"), "\(alone)")
        let refused = try await run(["login"] + arguments, values.merging(["PERSON_MODE": "disagree"]) { $1 })
        #expect(refused.status == 6, "\(refused)")
        #expect([.registration, .authorization, .deviceAuthorization].allSatisfy { count($0) == 0 })
        #expect(try await signingIn(["login"] + arguments, values).0.status == 0)
    }

    @Test(arguments: [false, true])
    func aPairOfThePersonsOwnAnswers(_ isProfile: Bool) async throws {
        let pair = ["--resource", url, "--issuer", setup.issuer]
        if isProfile { #expect(try await run(["profile", "add", "api"] + pair).status == 0) }
        let (login, question) = try await signingIn(["login"] + (isProfile ? ["--profile", "api"] : pair))
        #expect(login.status == 0 && question == nil, "\(login)")
        #expect(login.errors.contains("with read"))
        // The line of a profile and an option are no pair.
        guard isProfile else { return }
        #expect(try await run(["token", "--profile", "api"]).status == 0 && count(.registration) == 1)
        let apart = setup.directory.path + "/apart"
        let fresh = ["XDG_STATE_HOME": apart, "IDENTITYCTL_CACHE": "file:\(apart)"]
        let other = try await run(["login", "--profile", "api", "--resource", url + "/other", "--device-code"], fresh)
        #expect(other.status == 2 && other.errors.contains("--issuer"), "\(other)")
    }

    @Test func aQuestionWithoutAnAnswerEndsWithTheTimeOfTheSignIn() async throws {
        let late = try await run(["login", "--resource", url, "--timeout", "4"], ["IDENTITYCTL_BROWSER": "/bin/true"])
        #expect(late.status == 6 && late.errors.contains("was not answered in time"), "\(late)")
        #expect(count(.registration) == 0)
    }

    /// The token for registrations goes to the server that is named with it, and nowhere before the yes.
    @Test func theRegistrationTokenGoesToItsIssuerAlone() async throws {
        let file = setup.directory.path + "/registration-token"
        try Data("SECRET\n".utf8).write(to: URL(fileURLWithPath: file))
        let login = ["login", "--resource", url, "--registration-token-file", file]
        for more in [[:], ["IDENTITYCTL_ISSUER": setup.issuer]] {
            let unnamed = try await run(login, more)
            #expect(unnamed.status == 64 && unnamed.errors.contains("--issuer"), "\(unnamed)")
        }
        let other = try await run(login + ["--issuer", "https://honest.example"])
        #expect(other.status != 0 && count(.registration) == 0, "\(other)")
        #expect(try await signingIn(login + ["--issuer", setup.issuer]).0.status == 0)
        let registrations = setup.provider.requests.filter { $0.endpoint == .registration }
        #expect(registrations.map { $0.header("Authorization") } == ["Bearer SECRET"])
        let held = setup.provider.requests.filter { $0.header("Authorization") == "Bearer SECRET" }
        #expect(held.count == 1)
    }

    /// A redirect within the host leads the token out of the resource.
    @Test func theTokenStaysBelowItsResource() async throws {
        let own = Shared<ResourceServer?>(nil)
        let issuer = setup.issuer
        let server = try ResourceServer { request in
            let origin = own.value?.origin ?? ""
            switch request.path {
            case "/.well-known/oauth-protected-resource/mcp":
                return LoopbackResponse(
                    status: 200,
                    text: #"{"resource":"\#(origin)/mcp","authorization_servers":["\#(issuer)"]}"#
                )
            case "/mcp/leave": return .redirect(302, to: "/mcpx")
            default: return LoopbackResponse(status: 200, text: request.path)
            }
        }
        own.withLock { $0 = server }
        setup.provider.settings.resource?.identifier = server.origin + "/mcp"
        #expect(try await signingIn(["call", server.origin + "/mcp"]).0.status == 0)
        let left = try await run(["call", server.origin + "/mcp/leave"])
        #expect(left.status == 0 && left.output == "/mcpx", "\(left)")
        let called = server.requests.filter { $0.path.hasPrefix("/mcp") }.map {
            ($0.path, $0.headers["Authorization"] != nil)
        }
        #expect(called.map(\.0) == ["/mcp", "/mcp", "/mcp/leave", "/mcpx"])
        #expect(called.map(\.1) == [false, true, true, false])
    }

    /// One sign-in has one memory, also if the client and the server are named.
    @Test func remembersWhatIsNamedInFull() async throws {
        setup.provider.settings.registersClients = false
        let (login, question) = try await signingIn(
            ["login", "--resource", url, "--issuer", setup.issuer, "--client-id", "usual"]
        )
        #expect(login.status == 0 && question == nil, "\(login)")
        #expect(try await run(["call", url]).status == 0)
        #expect(try await run(["helper", "headers", url]).output.contains("Bearer "))
        #expect(try await run(["registration", "show", url]).output.contains("client-id = usual\n"))
    }

    /// A server that has forgotten the client of a sign-in that exists: the next sign-in registers anew before it opens a page.
    @Test func registersAnewWhereARefreshIsRefused() async throws {
        _ = try await signingIn(["login", "--resource", url])
        let refusal = TestIdentityProvider.Fault.refusal("invalid_client", status: 401)
        setup.provider.failNext(.resource, with: .refusal("invalid_token", status: 401))
        setup.provider.failNext(.token, with: refusal)
        let (call, question) = try await signingIn(["call", url])
        #expect(call.status == 0 && question == nil, "\(call)")
        #expect(count(.registration) == 2 && count(.authorization) == 2)
    }
}

/// The memory of resources, and where each is found.
struct KnownResourcesTests {
    private let temporary: TemporaryDirectory
    private let known: KnownResources

    init() throws {
        temporary = try TemporaryDirectory()
        known = KnownResources(directory: temporary.path + "/resources")
    }

    private func resource(_ identifier: String, place: String) -> KnownResource {
        KnownResource(
            identifier: identifier,
            place: place,
            issuer: "https://as",
            scopes: ["read"],
            clientID: "client",
            kind: .registered,
            dpop: .whenOffered,
            assumesPKCE: true,
            isNamed: true
        )
    }

    @Test(arguments: [
        ("https://h", "https://h", "https://h/bob/mcp", true),
        ("https://h", "https://h/alice/mcp", "https://h/bob/mcp", false),
        ("https://h", "https://h/alice/mcp", "https://h/alice/mcp/tools", true),
        ("https://h/alice/mcp", "https://h/alice/mcp", "https://h/alice", false),
    ])
    func areFoundInTheirReachAlone(_ identifier: String, _ place: String, _ asked: String, _ isFound: Bool) throws {
        let resource = resource(identifier, place: place)
        try known.keep(resource, calledAt: "https://h/alice/mcp")
        #expect(try known.profile(for: asked)?.given("resource")?.text == (isFound ? identifier : nil))
        #expect(try known.resource(at: "https://h/alice/mcp") == resource && known.resources() == [resource])
        // Also if it stands at an address that it does not reach.
        try known.keep(resource, calledAt: "https://h")
        #expect(try known.profile(for: asked)?.given("resource")?.text == (isFound ? identifier : nil))
    }

    /// Versions that do not know the limits of a sign-in take its lines nevertheless.
    @Test func areReadByEarlierVersions() throws {
        try known.keep(resource("https://h", place: "https://h/alice/mcp"), calledAt: "https://h/alice/mcp")
        let files = try FileManager.default.contentsOfDirectory(atPath: temporary.path + "/resources")
        let path = "\(temporary.path)/resources/\(try #require(files.first))"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let others = text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { $0.prefix { $0 != " " } }
        #expect(
            files.count == 1
                && others == ["resource", "issuer", "client-id", "scope", "dpop", "assume-pkce", "registered"]
        )
    }
}
