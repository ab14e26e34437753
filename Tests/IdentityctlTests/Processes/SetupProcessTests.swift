// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTesting
import OAuthWire
import Testing

@testable import identityctl

/// A person's first minute on a machine without a browser, a keyring, a client and a profile.
@Suite(.timeLimit(.minutes(1)))
struct SetupProcessTests {
    private let setup: ToolSetup
    private let variables: [String: String]

    init() throws {
        setup = try ToolSetup()
        setup.provider.settings.registersClients = true
        variables = [
            "HOME": setup.directory.path, "XDG_RUNTIME_DIR": setup.directory.path,
            "DBUS_SESSION_BUS_ADDRESS": "disabled:", "PATH": "\(setup.directory.path)/programs:/usr/bin:/bin",
        ]
    }

    private func hasToken(_ profile: String) async throws -> Bool {
        let token = try await Tool.run(["token", "--profile", profile], variables)
        #expect(token.status == 0, "\(token.errors)")
        return setup.provider.accepts(accessToken: String(token.output.dropLast()))
    }

    @Test func leadsFromNothingToATokenOfAnAPI() async throws {
        setup.provider.settings.resource = TestIdentityProvider.Resource(scopes: ["read"])
        let person = try Conversation(["setup"], variables)
        try await person.answer("Where do you sign in?", setup.provider.resourceAddress)
        try await person.answer("A number from 1 to 2", "")
        try await person.answer("A name for this profile", "notes")
        try await person.answer("Sign in? [y/N]", "y")
        try await person.signInElsewhere()
        let outcome = try await person.tool.outcome()
        #expect(outcome.status == 0, "\(person.text)")
        #expect(person.text.contains("$ identityctl login --profile notes"))
        // The next step stands there once.
        #expect(person.text.components(separatedBy: "run: identityctl token --profile notes").count == 2)
        #expect(person.text.contains("Done. To have a program ask for its tokens, run: identityctl integrate"))
        #expect(try await hasToken("notes"))
        #expect(setup.provider.count(of: .registration) == 1)
        let key = "\(setup.directory.path)/.config/identityctl/token.key"
        #expect(FileManager.default.fileExists(atPath: key))
    }

    @Test func registersAtAProviderAndAsksNothingThatOptionsSay() async throws {
        let cache = "file:\(setup.directory.path)/cache"
        let person = try Conversation(
            [
                "setup", setup.issuer, "--cache", cache, "--name", "work", "--scope", "files.read", "--integrate",
                "none",
            ],
            variables
        )
        try await person.signInElsewhere()
        let outcome = try await person.tool.outcome()
        #expect(outcome.status == 0, "\(person.text)")
        #expect(!person.text.contains("A name for") && person.text.contains("$ identityctl profile add work"))
        #expect(setup.provider.count(of: .registration) == 1)
        #expect(try await hasToken("work"))
        let renewed = try await Tool.run(["token", "--profile", "work", "--force-refresh"], variables)
        #expect(renewed.status == 0, "\(renewed.errors)")
    }

    /// This program registered the client: a person has no client id to check, and no sign-in is lost.
    @Test func registersAnewWhereTheProviderForgotTheClient() async throws {
        let options = ["--cache", "file:\(setup.directory.path)/cache", "--name", "work", "--integrate", "none"]
        let person = try Conversation(["setup", setup.issuer] + options, variables)
        try await person.signInElsewhere()
        #expect(try await person.tool.outcome().status == 0, "\(person.text)")
        let before = try await Tool.run(["profile", "show", "work"], variables).output
        setup.provider.failNext(.token, with: .refusal("invalid_client", status: 401))
        let token = try await Tool.run(["token", "--profile", "work", "--force-refresh"], variables)
        #expect(token.status == 2 && token.errors.contains("does not know this program's registration"), "\(token)")
        #expect(!token.errors.contains("Check the client id"))
        #expect(try await hasToken("work"))
        let advised = try #require(token.errorLines.last).trimmingPrefix("To sign in, run: ")
        #expect(advised == "identityctl login --profile work")
        let login = try Tool(advised: advised, variables.merging(["IDENTITYCTL_BROWSER": BrowserStandIn.name]) { $1 })
        try await ScriptedBrowser(provider: nil).visit(try await login.shownAddress())
        let outcome = try await login.outcome()
        #expect(outcome.status == 0 && outcome.errors.contains("Registered anew."), "\(outcome)")
        #expect(setup.provider.count(of: .registration) == 2)
        let after = try await Tool.run(["profile", "show", "work"], variables).output
        #expect(after != before && after.contains("registered = on"), "\(after)")
        #expect(try await hasToken("work"))
        let renewed = try await Tool.run(["token", "--profile", "work", "--force-refresh"], variables)
        #expect(renewed.status == 0, "\(renewed.errors)")
    }

    /// The commands that it shows do the same again.
    @Test func needsNoPersonWhereOptionsSayAll() async throws {
        let options = ["--client-id", "test-client", "--cache", "file", "--scope", "files.read", "--json"]
        let browsing = variables.merging(["IDENTITYCTL_BROWSER": BrowserStandIn.name]) { $1 }
        let tool = try Tool(["setup", setup.issuer, "--name", "work"] + options, browsing)
        try await ScriptedBrowser(provider: nil).visit(try await tool.shownAddress())
        let outcome = try await tool.outcome()
        #expect(outcome.status == 0, "\(outcome.errors)")
        let report = try JSONObject(parsing: Array(outcome.output.utf8))
        #expect(report.string("profile") == "work")
        let commands = try #require(report.strings("commands"))
        #expect(commands.count == 2 && commands[1] == "identityctl login --profile work")
        #expect(try await Tool.run(["profile", "remove", "work"], variables).status == 0)
        let again = try Tool(advised: commands[0], variables)
        #expect(try await again.outcome().status == 0)
        #expect(try await hasToken("work"))
    }

    @Test func saysHowToGoOnAfterCtrlC() async throws {
        let options = ["--cache", "file:\(setup.directory.path)/cache", "--name", "work", "--integrate", "none"]
        let person = try Conversation(["setup", setup.issuer] + options, variables)
        _ = try await person.shown(/\n(Address \(it is not shown)/)
        #expect(person.tool.interrupt())
        #expect(try await person.tool.outcome().status == 6)
        #expect(person.text.contains("\nTo go on, run: identityctl login --profile work\n"), "\(person.text)")
        #expect(try await Tool.run(["profile", "show", "work"], variables).status == 0)
    }

    @Test func saysWhichAnswerIsMissingWithoutAPerson() async throws {
        for (words, option) in [
            ([], "Where do you sign in?"), (["gitlab"], "--cache"), (["gitlab", "--cache", "file"], "--client-id"),
            (["gtilab"], "Did you mean 'gitlab'?"),
        ] {
            let outcome = try await Tool.run(["setup"] + words, variables)
            #expect(outcome.status == 64 && outcome.errors.contains(option), "\(outcome.errors)")
        }
        #expect(setup.provider.requests.isEmpty)
    }

    @Test func goesOnAfterAnAddressThatIsNone() async throws {
        let offline = variables.merging(["https_proxy": "http://127.0.0.1:9"]) { $1 }
        let person = try Conversation(["setup"], offline)
        try await person.answer("Where do you sign in?", "gogle")
        try await person.answer("Did you mean 'google'?", "http://127.0.0.1:9/nothing")
        try await person.answer("127.0.0.1", "gitlab")
        try await person.answer("A number from 1 to 2", "2")
        try await person.answer("The client id that you got:", "my-client")
        try await person.answer("A name for this profile: [gitlab]", "work")
        #expect(try await person.tool.outcome().status == 1)
        #expect(person.text.contains("go on with: identityctl login --profile work"), "\(person.text)")
        let profile = try await Tool.run(["profile", "show", "work"], variables)
        #expect(profile.output.contains("client-id = my-client") && profile.output.contains("cache = file"))
    }
}
