// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTesting
import OAuthWire
import Testing

@testable import identityctl

/// The first sign-in by hand, and the first look at what is there.
@Suite(.timeLimit(.minutes(1)))
struct FirstHourProcessTests {
    private let setup: ToolSetup
    private let variables: [String: String]

    init() throws {
        setup = try ToolSetup()
        var variables = setup.variablesWithoutKeyring(state: "\(setup.directory.path)/state")
        for name in ["IDENTITYCTL_BROWSER", "IDENTITYCTL_PRINT_TOKEN"] { variables[name] = nil }
        variables["HOME"] = setup.directory.path
        self.variables = variables
    }

    /// The options without the variables that name a client.
    private var plain: [String: String] {
        variables.filter { !["IDENTITYCTL_CLIENT_ID", "IDENTITYCTL_ISSUER", "IDENTITYCTL_SCOPE"].contains($0.key) }
    }

    @Test func goesOnAtATerminalWithoutABrowserAndAKeyring() async throws {
        let person = try Conversation(["login"], variables)
        try await person.answer("A number from 1 to 2", "2")
        try await person.signInElsewhere()
        let outcome = try await person.tool.outcome()
        #expect(outcome.status == 0, "\(person.text)")
        #expect(
            person.text.contains("No browser opens here") && person.text.contains("Signed in as alice@example.test.")
        )
        #expect(!person.text.contains("identityctl: "))
        // The store is remembered, and the sign-in can be kept.
        #expect(try await Tool.run(["token"], variables).status == 0)
        let command = try await person.shown(/To keep these options under a name, run: (identityctl [^\n]+)\n/)
        let kept = try Tool(advised: command, plain)
        #expect(try await kept.outcome().status == 0)
        let token = try await Tool.run(["token"], plain)
        #expect(token.status == 0 && token.errors.contains("alice@example.test's from now on"), "\(token.errors)")
        #expect(try await Tool.run(["token"], plain).errors.isEmpty)
        let again = try Conversation(["login"], plain)
        try await again.signInElsewhere()
        #expect(try await again.tool.outcome().status == 0)
        #expect(!again.text.contains("A number from") && !again.text.contains("To keep these options"))
    }

    /// Where no store was chosen, no account is signed in, and a missing keyring is not the matter.
    @Test func saysWhatIsMissingWithoutAProfile() async throws {
        let token = try await Tool.run(["token"], plain)
        #expect(token.status == 64 && token.errors.contains("To make a profile: identityctl setup"), "\(token)")
        let accounts = try await Tool.run(["accounts"], plain)
        #expect(accounts.errors.contains("listed by their own options"), "\(accounts)")
        let helper = try await Tool.run(["helper", "headers", setup.issuer, "--profile", "work"], plain)
        #expect(helper.status == 64 && helper.errors.contains("before the operation or the address"), "\(helper)")
    }

    @Test func listsAProfileThatWasNeverUsed() async throws {
        let made = try await Tool.run(["profile", "add", "new", "--issuer", setup.issuer, "--client-id", "a"], plain)
        #expect(made.status == 0, "\(made)")
        let all = try await Tool.run(["accounts", "--all"], plain)
        #expect(all.output == "-\tnew\tnot signed in; to sign in: identityctl login --profile new\n", "\(all)")
    }

    /// One advice, with everything in it, also for an address of which nothing is known.
    @Test(arguments: [false, true]) func advisesOnceWithoutAKeyring(isResource: Bool) async throws {
        setup.provider.settings.resource = TestIdentityProvider.Resource(scopes: ["read"])
        setup.provider.settings.registersClients = true
        let options = isResource ? ["--resource", setup.provider.resourceAddress, "--issuer", setup.issuer] : []
        let outcome = try await Tool.run(["login", "--manual"] + options, isResource ? plain : variables)
        #expect(outcome.status == 4, "\(outcome.errors)")
        #expect(outcome.errors.contains("cache create-key") && outcome.errors.contains("--manual"), "\(outcome.errors)")
        let address = "--resource \(setup.provider.resourceAddress)"
        #expect(!isResource || outcome.errors.contains(address), "\(outcome.errors)")
    }

    private func login(_ options: String...) async throws {
        let tool = try Tool(["login"] + options, variables.merging(["IDENTITYCTL_BROWSER": BrowserStandIn.name]) { $1 })
        try await ScriptedBrowser(provider: nil).visit(try await tool.shownAddress())
        let outcome = try await tool.outcome()
        #expect(outcome.status == 0, "\(outcome)")
    }

    /// Sign-ins by options alone: in three groups, in clear text and encrypted, and of a plain server.
    @Test func signsOutWhatNoProfileNames() async throws {
        let (home, key) = (setup.directory.path, "encrypted:key-file=\(setup.directory.path)/key")
        #expect(try await Tool.run(["cache", "create-key", "\(home)/key"], variables).status == 0)
        try await login("--cache", "file")
        try await login("--group", "com.example.suite", "--cache", key)
        try await login("--group", "com.example.other", "--cache", key)
        try await login("--group", "com.example.third", "--cache", "file:\(home)/elsewhere")
        // A variable that names a client keeps none of the others.
        let out = try await Tool.run(["logout", "--everywhere", "--json"], variables)
        #expect(out.status == 0, "\(out)")
        #expect(out.output.matches(of: /"revocation":"succeeded"/).count == 3, "\(out.output)")
        #expect(setup.provider.count(of: .revocation) == 3 && out.errors.contains("that only --cache names"))
        for options in [[], ["--group", "com.example.suite"], ["--group", "com.example.other"]] {
            let token = try await Tool.run(["token"] + options, variables)
            #expect(token.status == 2, "\(token)")
        }
        let elsewhere = ["--group", "com.example.third", "--cache", "file:\(home)/elsewhere"]
        #expect(try await Tool.run(["token"] + elsewhere, variables).status == 0)
        #expect(
            try await Tool.run(["logout", "--everywhere", "--cache", "file:\(home)/elsewhere"], plain).errors.contains(
                "Signed out alice"
            )
        )
        let again = try await Tool.run(["logout", "--everywhere", "--cache", "file:\(home)/elsewhere"], plain)
        #expect(again.status == 0 && again.errors.hasPrefix("No account is signed in."), "\(again)")
    }

    @Test func saysWhichSignInsItCannotReach() async throws {
        let (home, key) = (setup.directory.path, "\(setup.directory.path)/key")
        #expect(try await Tool.run(["cache", "create-key", key], variables).status == 0)
        try await login("--group", "com.example.other", "--cache", "encrypted:key-file=\(key)")
        try await login("--cache", "file")
        try FileManager.default.moveItem(atPath: key, toPath: "\(home)/moved")
        setup.provider.failNext(.revocation, with: .refusal("invalid_request"))
        let out = try await Tool.run(["logout", "--everywhere", "--json"], plain)
        #expect(out.status != 0 && out.errors.contains("its accounts stay signed in"), "\(out)")
        #expect(out.output.contains(#""signedIn":"#) && out.output.contains(#""revocation":"failed""#), "\(out.output)")
        // The account whose token could not be revoked is gone here all the same, and the other one stays.
        #expect(try await Tool.run(["token"], variables).status == 2)
        try FileManager.default.moveItem(atPath: "\(home)/moved", toPath: key)
        #expect(try await Tool.run(["token", "--group", "com.example.other"], variables).status == 0)
    }

    @Test func listsTheSignInsOfAllProfiles() async throws {
        let person = try await Person()
        for name in ["away", "gone"] {
            try await person.addProfile(name, serves: [])
        }
        try person.write("client-id = x\nscop = y\n", to: ".config/identityctl/profiles/broken.conf")
        try await person.login()
        let all = try await person.run(["accounts", "--all"])
        #expect(all.status == 0, "\(all.errors)")
        let rows = all.output.split(separator: "\n").map { $0.split(separator: "\t").map(String.init) }
        let work = try #require(rows.first { $0[1] == "work" })
        #expect(work[0] == "alice@example.test" && work[2].hasPrefix("good until 20"))
        let broken = try #require(rows.first { $0[1] == "broken" })
        #expect(broken[2].hasPrefix("not known: ") && broken[2].contains("Did you mean 'scope'?"))
        let json = try await person.run(["accounts", "--json"])
        #expect(json.output.contains(#""profile":"work""#) && json.output.contains(#""state":"good""#), "\(json)")

        person.setup.provider.revokeSessions(of: .alice)
        #expect(try await person.run(["token", "--profile", "work", "--force-refresh"]).status == 2)
        let ended = try await person.run(["accounts", "--all", "--json"])
        #expect(
            ended.output.contains(#""isLast":true"#) || ended.output.contains(#""state":"ended""#),
            "\(ended.output)"
        )
        let out = try await person.run(["logout", "--everywhere", "--json"])
        #expect(out.output.contains(#""revocation":"#), "\(out)")
        let after = try await person.run(["accounts", "--all"])
        #expect(!after.output.contains("alice@example.test") && after.output.contains("login --profile work"))
    }
}
