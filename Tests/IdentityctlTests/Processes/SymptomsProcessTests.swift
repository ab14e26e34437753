// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import IdentityTestSupport
import IdentityTesting
import Testing

@testable import identityctl

/// `Docs/symptoms.md`: each symptom's first command, run against the broken thing, names the fault or ends it.
@Suite(.timeLimit(.minutes(1))) struct SymptomsProcessTests {
    /// The page's sections, the first of which has no heading.
    private static func sections() throws -> [(heading: String, text: String)] {
        try text(of: "Docs/symptoms").components(separatedBy: "\n## ").dropFirst().map { section in
            let lines = section.components(separatedBy: "\n")
            return (lines[0], lines.dropFirst().joined(separator: "\n"))
        }
    }

    private static func text(of page: String) throws -> String {
        let root = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        return String(decoding: try Data(contentsOf: URL(filePath: "/\(root)/\(page).md")), as: UTF8.self)
    }

    /// Starts a symptom's first command, as it stands on the page.
    ///
    /// - Parameter wanted: Puts the test's addresses in place of the page's.
    private func start(_ symptom: String, _ person: Person, _ wanted: (String) -> String = { $0 }) throws -> Tool {
        let text = try #require(try Self.sections().first { $0.heading == symptom }?.text)
        let command = try #require(text.firstMatch(of: /```sh\n(identityctl [^\n]+)\n/)?.1, "\(symptom)")
        return try Tool(advised: wanted(String(command)), person.variables)
    }

    private func run(_ symptom: String, _ person: Person, _ wanted: (String) -> String = { $0 }) async throws
        -> Tool.Outcome
    {
        try await start(symptom, person, wanted).outcome()
    }

    /// A test here names it, and so runs its command.
    @Test func everySymptomHasATest() throws {
        let tests = String(decoding: try Data(contentsOf: URL(filePath: #filePath)), as: UTF8.self)
        for (heading, _) in try Self.sections() { #expect(tests.contains("\"\(heading)\""), "\(heading)") }
    }

    /// In a block or in a line, with all its options, on each page that people read.
    @Test(arguments: [
        "README", "Docs/everyday", "Docs/identityctl", "Docs/integrations", "Docs/profile", "Docs/symptoms",
    ])
    func everyCommandOfAPageExists(_ page: String) throws {
        let text = try Self.text(of: page)
        let blocks = text.replacing("\\\n", with: "").matches(of: /(?m)^(?:\$ )?(identityctl [^\n]+)$/).map(\.1)
        // A command's name alone names it.
        let words = text.matches(of: /`(identityctl [^`]+\s[^`]+)`/).map(\.1)
        #expect(blocks.count + words.count > 1)
        for command in blocks + words where !command.contains(/['"…]|COMMAND/) {
            let line = command.prefix { !"#|&<>".contains($0) }
                .replacing("integrate TOOL", with: "integrate git").replacing("integrate NAME", with: "integrate git")
            let arguments = line.split(whereSeparator: \.isWhitespace).dropFirst().map(String.init)
            #expect(throws: Never.self, "\(command)") { try Identityctl.parseAsRoot(arguments) }
        }
    }

    @Test func namesAForwarderThatDoesNotRun() async throws {
        let api = try await ForwardedAPI()
        let port = try await api.place().port
        let doctor = try await run("A program does not reach the forwarder", api.person)
        #expect(doctor.output.contains(/forward api +lack +no forwarder runs/), "\(doctor)")
        #expect(doctor.output.contains("\(port)"), "\(doctor)")
    }

    @Test func namesTheEndOfASignInEverywhere() async throws {
        let person = try await Person(serves: "https://git.example.test")
        try await person.addProfile("mail", serves: [])
        #expect(try await person.run(["profile", "default", "work"]).status == 0)
        #expect(try await person.integrate("git", "--profile", "work").status == 0)
        // Each token is over after a second.
        person.setup.provider.failAlways(.token, with: .changing("expires_in", to: "1"))
        for profile in ["work", "mail"] { try await person.login(profile) }
        person.setup.provider.failAlways(.token, with: nil)
        person.setup.provider.revokeSessions(of: .alice)
        let isOver = try await eventually { try await person.run(["token", "--profile", "mail"]).status == 2 }
        try #require(isOver)
        for (symptom, profile) in [
            ("docker says unauthorized or denied", "work"),
            ("Mail: msmtp, mutt, mbsync or aerc cannot sign in", "mail"),
        ] {
            let outcome = try await run(symptom, person)
            #expect(outcome.status == 2, "\(outcome)")
            #expect(outcome.errorLines.last == "To sign in, run: identityctl login --profile \(profile)", "\(outcome)")
        }
        let doctor = try await run("git asks for a password", person)
        let git = try #require(doctor.output.firstRange(of: "\ngit  "))
        let row = doctor.output[git.upperBound...]
        #expect(row.contains("lack") && row.contains("identityctl login --profile work"), "\(doctor)")
        let accounts = try await run("Status 2: a person is needed", person)
        for profile in ["work", "mail"] {
            #expect(accounts.output.contains("identityctl login --profile \(profile)\n"), "\(accounts)")
        }
    }

    @Test func namesAnEntryThatCannotStart() async throws {
        let person = try await Person()
        let outcome = try await run("The AI program does not start the server", person) {
            $0.replacing("https://mcp.example.com", with: "http://127.0.0.1:9")
        }
        #expect(outcome.status != 0 && outcome.errors.contains("127.0.0.1:9"), "\(outcome)")
        #expect(outcome.errors.contains("There was no sign-in. To try again, run: identityctl login"), "\(outcome)")
    }

    @Test func namesAProviderThatIsAway() async throws {
        let person = try await Person()
        person.setup.provider.close()
        let outcome = try await run("Status 3: network or server unavailable", person)
        #expect(outcome.output.contains(/provider +lack +http.*\n +No connection/), "\(outcome)")
    }

    @Test func namesTheStoreThatIsMissing() async throws {
        let person = try await Person()
        let profile = ".config/identityctl/profiles/work.conf"
        try person.write(
            try #require(person.text(profile)).replacing(/cache = .*\n/, with: ""),
            to: profile
        )
        #expect(try await person.run(["login", "--profile", "work"]).status == 4)
        let outcome = try await run("Status 4: the token store is unavailable", person)
        #expect(outcome.output.contains("lack  there is none"), "\(outcome)")
        // The two lines for a computer without a keyring end it.
        let section = try #require(try Self.sections().first { $0.heading.hasPrefix("Status 4") }?.text)
        let block = try #require(section.firstMatch(of: /```sh\n(.+)\n(.+cache encrypted:.+)\n```/))
        #expect(try await Tool(advised: block.1, person.variables).outcome().status == 0)
        let login = try Tool(advised: block.2, person.variables)
        try await ScriptedBrowser(provider: nil).visit(try await login.shownAddress())
        #expect(try await login.outcome().status == 0)
        #expect(try await person.run(["token", "--profile", "work"]).status == 0)
    }

    @Test func namesAToolWhoseProgramIsGone() async throws {
        let person = try await Person(serves: "https://site.test")
        #expect(try await person.run(["profile", "default", "work"]).status == 0)
        try await person.login()
        #expect(try await person.integrate("pnpm", "--profile", "work").status == 0)
        try person.remove(".local/bin/pnpm-token-identityctl")
        let outcome = try await run("pip, uv, cargo, pnpm, kubectl or aws get no token", person)
        let row = try #require(outcome.output.firstRange(of: /pnpm +lack/), "\(outcome)")
        let advice = "The helper is gone. Run: identityctl integrate pnpm --profile work"
        #expect(outcome.output[row.upperBound...].contains(advice), "\(outcome)")
    }

    /// A person, and the address of a server that registers clients.
    private func atServer() async throws -> (person: Person, url: String) {
        var person = try await Person()
        person.setup.provider.settings.resource = TestIdentityProvider.Resource(scopes: ["read"])
        person.setup.provider.settings.registersClients = true
        person.variables["IDENTITYCTL_CACHE"] = "file:\(person.home)/cache"
        person.variables["XDG_RUNTIME_DIR"] = person.home
        return (person, person.setup.provider.resourceAddress)
    }

    @Test func namesTheStepToAServerThatIsMissing() async throws {
        let (person, url) = try await atServer()
        let outcome = try await run("The AI program says that the server needs authentication", person) {
            $0.replacing("https://mcp.example.com/mcp", with: url)
        }
        #expect(outcome.status == 2 && outcome.output.contains("identityctl login --resource \(url)"), "\(outcome)")
    }

    @Test func registersAnewWhereTheServerHasForgottenTheClient() async throws {
        let (person, url) = try await atServer()
        let provider = person.setup.provider
        func signIn() async throws {
            let symptom = "The server does not know the client any more"
            let tool = try start(symptom, person) { $0.replacing("https://mcp.example.com/mcp", with: url) }
            try await ScriptedBrowser(provider: nil).visit(try await tool.shownAddress())
            #expect(try await tool.outcome().status == 0)
        }
        try await signIn()
        provider.failNext(.token, with: .refusal("invalid_client", status: 401))
        #expect(try await person.run(["token", "--resource", url, "--force-refresh"]).status == 2)
        try await signIn()
        #expect(provider.count(of: .registration) == 2)
        #expect(try await person.run(["token", "--resource", url, "--force-refresh"]).status == 0)
    }

    @Test func namesACertificateThatIsNotTrusted() async throws {
        let person = try await Person()
        let (server, port) = try await CertificateAuthority.make().server(for: "localhost")
        defer { server.terminate() }
        let profile = ".config/identityctl/profiles/work.conf"
        let text = try #require(person.text(profile))
        try person.write(text.replacing(/issuer = .*/, with: "issuer = https://localhost:\(port)"), to: profile)
        let outcome = try await run("Status 5: an answer was not believed", person)
        #expect(outcome.status != 0 && outcome.output.contains(/provider +lack/), "\(outcome)")
        #expect(outcome.output.contains("The certificate of localhost is not trusted"), "\(outcome)")
    }

    @Test func signsInWithoutABrowser() async throws {
        var person = try await Person()
        person.variables["IDENTITYCTL_BROWSER"] = "\(person.home)/none"
        #expect(try await person.run(["login", "--profile", "work"]).status == 8)
        let tool = try start("Status 8: no browser can be opened", person)
        let code = try await tool.errorLine { $0.hasPrefix("  ") && $0.count == 11 && $0.contains("-") }
        #expect(person.setup.provider.approveDevice(userCode: code.trimmingCharacters(in: .whitespaces), as: .alice))
        #expect(try await tool.outcome().status == 0)
    }

    @Test func takesTheAddressOfAPageThatCannotBeShown() async throws {
        let person = try await Person()
        let tool = try start("The browser ends at a page that cannot be shown", person)
        let browser = ScriptedBrowser(provider: nil)
        browser.followsRedirects = false
        try await browser.visit(try await tool.shownAddress())
        try tool.type(try await browser.redirectURL().absoluteString)
        #expect(try await tool.outcome().status == 0)
    }

    @Test func letsAPersonChooseAnotherAccount() async throws {
        let person = try await Person()
        try await person.login()
        #expect(try await person.run(["logout", "--profile", "work"]).status == 0)
        let tool = try start("It is the wrong person", person)
        let address = try await tool.shownAddress()
        #expect(address.query?.contains("prompt=select_account") == true)
        try await ScriptedBrowser(provider: nil, signingInAs: .bob).visit(address)
        let outcome = try await tool.outcome()
        #expect(outcome.status == 0 && outcome.errors.contains("Signed in as bob@example.test"), "\(outcome)")
    }

    @Test func saysThatTheAgentIsLocked() async throws {
        var person = try await Person()
        try await person.login()
        person.variables["XDG_RUNTIME_DIR"] = person.home
        let socket = "\(person.home)/run/agent.sock"
        let agent = try Tool(["agent", "run", "--socket", socket, "--ignore-screen"], person.variables)
        _ = try await agent.errorLine { $0.contains("The agent listens") }
        person.variables["IDENTITYCTL_AGENT"] = socket
        #expect(try await person.run(["agent", "lock"]).status == 0)
        #expect(try await person.run(["token", "--profile", "work"]).status == 4)
        let outcome = try await run("The agent gives no token", person)
        #expect(outcome.output.hasPrefix("locked\n"), "\(outcome)")
        #expect(try await person.run(["agent", "unlock"]).status == 0)
        #expect(try await person.run(["token", "--profile", "work"]).status == 0)
        #expect(try await person.run(["agent", "stop"]).status == 0)
        #expect(try await agent.outcome().status == 0)
    }

    @Test func recordsWhatTheProviderSaid() async throws {
        let person = try await Person()
        person.setup.provider.settings.consentScopes = ["files.read"]
        let tool = try start("Status 7: access denied", person)
        try await ScriptedBrowser(provider: nil, behaviour: .deny).visit(try await tool.shownAddress())
        let outcome = try await tool.outcome()
        #expect(outcome.status == 7 && outcome.errors.contains("The server said: access_denied"), "\(outcome)")
        #expect(person.text("sign-in.json")?.contains("access_denied") == true)
    }

    @Test func choosesAnAccount() async throws {
        let person = try await Person()
        try await person.login()
        try await person.login(as: .bob)
        let outcome = try await run("Status 9: several accounts", person) {
            $0.replacing("example.com", with: "example.test")
        }
        #expect(outcome.status == 0 && outcome.errors.contains("is the default account."), "\(outcome)")
        #expect(try await person.run(["token", "--profile", "work"]).status == 0)
    }

    @Test func namesTheLineOfAProfile() async throws {
        let person = try await Person()
        try await person.addProfile("other", serves: [])
        #expect(try await person.run(["profile", "default", "other"]).status == 0)
        #expect(try await run("The profile is not used", person).output.contains(/other\t.*\tdefault\n/))
        try person.write("client-id = a\nscoep = b\n", to: ".config/identityctl/profiles/work.conf")
        let outcome = try await run("Status 64: wrong usage", person)
        #expect(outcome.status == 64 && outcome.errors.contains("work.conf:2: 'scoep'"), "\(outcome)")
    }
}
