// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityClient
import IdentityTesting
import OAuthWire
import Testing

@testable import identityctl

/// Sign-ins for an API of which a person knows the address alone.
@Suite(.timeLimit(.minutes(1)))
struct ResourceProcessTests {
    private let setup: ToolSetup
    private let url: String
    private let variables: [String: String]

    init() throws {
        setup = try ToolSetup()
        setup.provider.settings.resource = TestIdentityProvider.Resource(scopes: ["read"])
        setup.provider.settings.registersClients = true
        url = setup.provider.resourceAddress
        variables = [
            "HOME": setup.directory.path, "XDG_RUNTIME_DIR": setup.directory.path, "DISPLAY": ":99",
            "IDENTITYCTL_CACHE": "file:\(setup.directory.path)/cache", "IDENTITYCTL_BROWSER": BrowserStandIn.name,
        ]
    }

    private func run(_ arguments: String...) async throws -> Tool.Outcome {
        try await Tool.run(arguments, variables)
    }

    /// Runs a command that opens the browser, in which a person signs in.
    private func signingIn(_ arguments: String...) async throws -> (Tool.Outcome, question: String?) {
        let tool = try Tool(arguments, variables)
        try await ScriptedBrowser(provider: nil).visit(try await tool.shownAddress())
        return (try await tool.outcome(), tool.question)
    }

    private func count(_ endpoint: TestIdentityProvider.Endpoint) -> Int { setup.provider.count(of: endpoint) }

    @Test func callsAnAPIAfterOneQuestionAndOnePage() async throws {
        let (call, question) = try await signingIn("call", url)
        #expect(call.status == 0, "\(call.errors)")
        #expect(try JSONObject(parsing: Array(call.output.utf8)).string("sub") == "subject-alice")
        let page = try #require(question)
        #expect(page.contains("Sign in for \(URL(string: url)?.host ?? ""):") && page.contains(url))
        #expect(page.contains(setup.issuer) && page.contains(">read<"))
        #expect(call.errors.contains("The browser asks first"))
        // From now on the resource is known, also below its address, and no question is asked.
        setup.provider.forgetRequests()
        let again = try await run("call", url + "/tools")
        #expect(again.status == 0 && again.errors.isEmpty)
        #expect(setup.provider.requests.map(\.endpoint) == [.resource])
        let token = try await run("token", "--resource", url)
        #expect(token.status == 0 && setup.provider.accepts(accessToken: String(token.output.dropLast())))
    }

    @Test func twentyCallsRegisterOnceAndOpenOnePage() async throws {
        let tools = try (0..<20).map { _ in try Tool(["call", url], variables) }
        let address = try await tools[0].poll("a page") { tools.lazy.compactMap(\.openedAddress).first }
        try await ScriptedBrowser(provider: nil).visit(try #require(URL(string: address)))
        for tool in tools {
            let outcome = try await tool.outcome()
            #expect(outcome.status == 0, "\(outcome.errors)")
        }
        #expect(tools.count { $0.hasOpenedBrowser } == 1)
        #expect(count(.registration) == 1 && count(.authorization) == 1 && count(.token) == 1)
    }

    /// The one that opened the page is killed: the others wait no longer, and take its registration.
    @Test func aDeathLosesNoRegistration() async throws {
        let first = try Tool(["call", url], variables)
        _ = try await first.shownAddress()
        let others = try (0..<3).map { _ in try Tool(["call", url], variables) }
        _ = try await others[0].errorLine { $0.hasPrefix("Another sign-in for this client") }
        #expect(first.interrupt(by: SIGKILL))
        let address = try await others[0].poll("a page") { others.lazy.compactMap(\.openedAddress).first }
        try await ScriptedBrowser(provider: nil).visit(try #require(URL(string: address)))
        for tool in others {
            let outcome = try await tool.outcome()
            #expect(outcome.status == 0, "\(outcome.errors)")
        }
        #expect(count(.registration) == 1 && count(.token) == 1)
    }

    /// The switch is kept with what is known of the resource, for the refreshes of later processes.
    @Test func assumesPKCEWhereThePersonSaysSo() async throws {
        setup.provider.settings.advertisesS256 = false
        let refused = try await run("login", "--resource", url)
        #expect(refused.status != 0 && refused.errors.contains("--assume-pkce") && count(.authorization) == 0)
        #expect(try await run("doctor", url).output.contains("--assume-pkce"))
        #expect(try await signingIn("login", "--resource", url, "--assume-pkce").0.status == 0)
        let token = try await run("token", "--resource", url, "--force-refresh")
        #expect(token.status == 0 && count(.token) == 2, "\(token)")
        #expect(try await run("doctor", url).status == 0)
    }

    /// A resource without a profile has no name, under which an account could be kept as that of a profile.
    @Test func keepsNoAccountAsThatOfAProfile() async throws {
        let added = try await run("profile", "add", "resource", "--resource", url + "/other")
        #expect(added.status == 0, "\(added)")
        #expect(try await signingIn("login", "--resource", url).0.status == 0)
        let chosen = try await run("accounts", "--resource", url, "--json")
        let id = try #require(chosen.output.firstMatch(of: /"id":"([^"]+)"/)?.1)
        let again = try await run("accounts", "--resource", url, "--default", String(id))
        #expect(again.status == 0 && !again.errors.contains("The profile"), "\(again)")
        let files = FileManager.default.enumerator(atPath: setup.directory.path)?.compactMap { $0 as? String } ?? []
        #expect(files.contains { $0.hasSuffix("profiles/resource.conf") })
        #expect(!files.contains { $0.contains("profile-accounts/") }, "\(files)")
    }

    /// The client of the agent names the profile alone, and reaches the API without a sign-in of its own.
    @Test func anAgentGivesTokensOfAProfileWithAResource() async throws {
        let cache = "file:\(setup.directory.path)/cache"
        let added = try await run("profile", "add", "api", "--resource", url, "--scope", "read", "--cache", cache)
        #expect(added.status == 0, "\(added)")
        #expect(try await signingIn("login", "--profile", "api").0.status == 0)
        let socket = "\(setup.directory.path)/agent.sock"
        let agent = try Tool(["agent", "--socket", socket], variables)
        _ = try await agent.errorLine { $0.hasPrefix("The agent listens.") }
        let client = ["IDENTITYCTL_AGENT": socket, "IDENTITYCTL_PROFILE": "api"]
        let token = try await Tool.run(["token"], client)
        #expect(token.status == 0 && setup.provider.accepts(accessToken: String(token.output.dropLast())), "\(token)")
        let call = try await Tool.run(["call", url], client)
        #expect(call.status == 0 && call.output.contains("subject-alice"), "\(call)")
        #expect(count(.registration) == 1 && count(.token) == 1)
        agent.interrupt()
        #expect(try await agent.outcome().status == 0)
    }

    /// A token that is bound to a key is proven by 'call', and handed out by nothing.
    @Test func keepsBoundTokensToItself() async throws {
        setup.provider.settings.dpop = TestIdentityProvider.DPoP(isRequired: true, nonce: "n")
        let (call, _) = try await signingIn("call", url)
        #expect(call.status == 0, "\(call.errors)")
        #expect(try await run("registration", "show", url).output.contains("dpop = required\n"))
        let token = try await run("token", "--resource", url)
        #expect(token.status == 1 && token.output.isEmpty && token.errors.contains("bound to a key"))
        let header = try await run("token", "--resource", url, "--request", "GET \(url)", "--nonce", "n")
        let fields = header.output.split(separator: "\n").map { $0.prefix { $0 != ":" } }
        #expect(header.status == 0 && fields == ["Authorization", "DPoP"], "\(header.errors)")
        let exec = try await run("exec", "--resource", url, "--env", "T", "--", "true")
        #expect(exec.status != 0 && exec.errors.contains("bound to a key"), "\(exec)")
    }

    @Test func nothingIsKeptWithoutConsent() async throws {
        let refused = try await Tool.run(["call", url], variables.merging(["PERSON_MODE": "disagree"]) { $1 })
        #expect(refused.status == 6 && refused.errors.contains("refused in the browser"), "\(refused.errors)")
        #expect(count(.authorization) == 0 && count(.resource) == 1 && count(.registration) == 0)
        #expect(try await run("registration").output.isEmpty)
    }

    @Test func saysWhatToRunWhereNobodyIs() async throws {
        let alone = variables.filter { $0.key != "DISPLAY" }
        for arguments in [["call", url], ["token", "--resource", url]] {
            let outcome = try await Tool.run(arguments, alone)
            #expect(outcome.status == 2 && outcome.output.isEmpty)
            #expect(outcome.errors.contains("identityctl login --resource \(url)"), "\(outcome.errors)")
        }
        #expect(setup.provider.requests.isEmpty)
        let device = try await Tool.run(["login", "--resource", url, "--device-code"], alone)
        #expect(
            device.status == 2
                && device.errors.contains("login --resource \(url) --device-code --issuer \(setup.issuer)")
        )
        #expect(count(.deviceAuthorization) == 0)
    }

    /// As in a container: the registration cannot be kept, and the advice is the same as for tokens.
    @Test func saysWhereTokensCanRestWithoutAKeyring() async throws {
        let state = "\(setup.directory.path)/state"
        let alone = ["HOME": setup.directory.path, "XDG_STATE_HOME": state, "DBUS_SESSION_BUS_ADDRESS": "disabled:"]
        let named = ["login", "--resource", url, "--issuer", setup.issuer]
        let refused = try await Tool.run(named, alone)
        let advice = refused.errorLines.last ?? ""
        #expect(refused.status == 4 && advice.contains("identityctl cache create-key"), "\(refused)")
        #expect(advice.contains("--resource \(url)") && advice.hasSuffix("--manual"), "\(refused)")
        // The way of signing in stays in the command that answers the question.
        let unanswered = try await Tool.run(["login", "--resource", url, "--manual"], alone)
        #expect(unanswered.status == 2 && unanswered.errorLines.last?.contains("--manual") == true, "\(unanswered)")
    }

    @Test func asksNobodyAboutAServerThatIsNamed() async throws {
        let (login, question) = try await signingIn("login", "--resource", url, "--issuer", setup.issuer)
        #expect(login.status == 0 && question == nil, "\(login.errors)")
        let whole = try await run("token", "--resource", url)
        #expect(whole.status == 0)
    }

    @Test func keepsTheScopesThatAnAPIDemands() async throws {
        _ = try await signingIn("call", url)
        setup.provider.settings.resource?.demandedScopes = ["write"]
        let (more, question) = try await signingIn("call", url)
        #expect(more.status == 0 && question == nil, "\(more.errors)")
        let answer = try JSONObject(parsing: Array(more.output.utf8)).strings("scope")
        #expect(Set(answer ?? []).isSuperset(of: ["read", "write"]))
        let later = try await run("call", url)
        #expect(later.status == 0 && count(.authorization) == 2)
    }

    @Test func listsAndForgetsWhatItRegistered() async throws {
        _ = try await signingIn("login", "--resource", url)
        let client = "registered-2"
        #expect(try await run("registration").output == "\(url)\t\(setup.issuer)\t\(client)\n")
        let shown = try await run("registration", "show", url + "/below")
        #expect(shown.output.contains("client-id = \(client)\n") && shown.output.contains("issuer = \(setup.issuer)\n"))
        let json = try JSONObject(parsing: Array(try await run("registration", "list", "--json").output.utf8))
        #expect(json.array("registrations")?.count == 1)
        #expect(try await run("registration", "remove", url).status == 0)
        #expect(try await run("registration").output.isEmpty)
        #expect(try await run("registration", "show", url).status == 64)
        let (login, question) = try await signingIn("login", "--resource", url)
        #expect(login.status == 0 && question != nil && count(.registration) == 2)
    }

    @Test func printsItsMetadataDocument() async throws {
        let address = "https://client.example/identityctl.json"
        let json = try JSONObject(parsing: Array(try await run("registration", "document", address).output.utf8))
        #expect(json.string("client_id") == address && json.string("application_type") == "native")
        #expect(json.string("token_endpoint_auth_method") == "none")
        #expect(json.strings("redirect_uris")?.contains("http://[::1]/callback") == true)
        #expect(try await run("registration", "document", "http://client.example/a").status == 64)
    }

    @Test func registersAnewWhatTheServerHasForgotten() async throws {
        _ = try await signingIn("login", "--resource", url)
        setup.provider.failNext(.token, with: .refusal("invalid_client", status: 401))
        let tool = try Tool(["login", "--resource", url], variables)
        try await ScriptedBrowser(provider: nil).visit(try await tool.shownAddress())
        _ = try await tool.errorLine { $0.contains("Registered anew") }
        let second = try await tool.poll("a second page") {
            tool.openedAddress.flatMap { $0.contains("registered-3") ? $0 : nil }
        }
        try await ScriptedBrowser(provider: nil).visit(try #require(URL(string: second)))
        let outcome = try await tool.outcome()
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(count(.registration) == 2)
    }

    @Test func followsNoOtherServerThanBefore() async throws {
        _ = try await signingIn("login", "--resource", url)
        setup.provider.settings.resource?.authorizationServers = ["http://127.0.0.1:9/other"]
        let changed = try await run("login", "--resource", url)
        #expect(changed.status == 5 && changed.errors.contains("127.0.0.1:9"), "\(changed.errors)")
        // What is known goes on until its end.
        #expect(try await run("call", url).status == 0)
    }

    @Test func worksFromAProfile() async throws {
        #expect(try await run("profile", "add", "notes", "--resource", url).status == 0)
        let none = try await run("token")
        #expect(none.status == 2 && none.errors.contains("identityctl login"), "\(none.errors)")
        let (login, question) = try await signingIn("login")
        #expect(login.status == 0 && question != nil, "\(login.errors)")
        #expect(try await run("token").status == 0)
        #expect(try await run("profile", "add", "bad", "--resource", "ftp://x").status == 64)
    }

    @Test func tellsEachStepOfTheSearch() async throws {
        let before = try await run("doctor", url)
        #expect(before.status == 2 && before.output.contains("identityctl login --resource \(url)"), "\(before)")
        #expect(count(.registration) == 0)
        _ = try await signingIn("login", "--resource", url)
        let after = try await run("doctor", url)
        let checks = after.output.split(separator: "\n").map { $0.prefix { $0 != " " } }
        #expect(after.status == 0 && checks == ["resource", "server", "client", "account"], "\(after)")
        setup.provider.settings.advertisesS256 = false
        let weak = try await run("doctor", url)
        #expect(weak.status != 0 && weak.output.contains("S256"), "\(weak)")
        setup.provider.settings.resource = nil
        #expect(try await run("doctor", url).output.contains("does not say who issues its tokens"))
    }
}
