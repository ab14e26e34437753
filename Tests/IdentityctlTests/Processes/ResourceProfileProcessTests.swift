// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTesting
import OAuthWire
import Testing

@testable import identityctl

/// Profiles of one API, of which no more than the address is known, and two people.
///
/// One after the other, because a registered program has five ports for the redirects of all its sign-ins.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct ResourceProfileProcessTests {
    private let setup: ToolSetup
    private let url: String
    private let variables: [String: String]

    init() async throws {
        setup = try ToolSetup()
        setup.provider.settings.resource = TestIdentityProvider.Resource(scopes: ["read"])
        setup.provider.settings.registersClients = true
        url = setup.provider.resourceAddress
        variables = [
            "HOME": setup.directory.path, "XDG_RUNTIME_DIR": setup.directory.path, "DISPLAY": ":99",
            "IDENTITYCTL_CACHE": "file:\(setup.directory.path)/cache", "IDENTITYCTL_BROWSER": BrowserStandIn.name,
        ]
        for name in ["work", "private"] {
            #expect(try await run("profile", "add", name, "--resource", url).status == 0)
        }
    }

    private func run(_ arguments: String...) async throws -> Tool.Outcome {
        try await Tool.run(arguments, variables)
    }

    /// Runs a command in whose browser a person signs in.
    private func signIn(_ who: TestIdentityProvider.Person, _ arguments: String...) async throws -> Tool.Outcome {
        let tool = try Tool(arguments, variables)
        try await ScriptedBrowser(provider: nil, signingInAs: who).visit(try await tool.shownAddress())
        return try await tool.outcome()
    }

    private func signInBoth() async throws {
        #expect(try await signIn(.alice, "login", "--profile", "work").status == 0)
        #expect(try await signIn(.bob, "login", "--profile", "private").status == 0)
    }

    private func call(_ arguments: String...) async throws -> String? {
        let outcome = try await Tool.run(["call", url] + arguments, variables)
        #expect(outcome.status == 0, "\(outcome)")
        return try JSONObject(parsing: Array(outcome.output.utf8)).string("sub")
    }

    private func token(_ profile: String) async throws -> String {
        let outcome = try await run("token", "--profile", profile)
        #expect(outcome.status == 0, "\(outcome)")
        return String(outcome.output.dropLast())
    }

    /// The token in the last request to the API.
    private var sentToken: String? {
        setup.provider.requests.last { $0.endpoint == .resource }?.header("Authorization")
            .map { String($0.dropFirst("Bearer ".count)) }
    }

    private func headers(_ arguments: [String], _ more: [String: String] = [:]) async throws -> Tool.Outcome {
        try await Tool.run(["helper", "headers"] + arguments + [url], variables.merging(more) { $1 })
    }

    @Test func eachProfileIsThePersonsWhoSignedInWithIt() async throws {
        try await signInBoth()
        #expect(setup.provider.count(of: .registration) == 1)
        var tokens: [String: String] = [:]
        for (profile, person) in [("work", "subject-alice"), ("private", "subject-bob")] {
            #expect(try await call("--profile", profile) == person)
            let token = try await token(profile)
            tokens[profile] = token
            #expect(sentToken == token)
            let bridge = try Tool(["mcp", "--profile", profile, url], variables)
            try bridge.type(#"{"id":1,"method":"x"}"#)
            _ = try await bridge.answer(1)
            #expect(sentToken == token)
            let expected = "{\"Authorization\":\"Bearer \(token)\"}\n"
            #expect(try await headers([], ["IDENTITYCTL_PROFILE": profile]).output == expected)
            #expect(try await headers(["--profile", profile]).output == expected)
            #expect(try await run("token", "--resource", url, "--profile", profile).output == token + "\n")
        }
        #expect(tokens["work"] != tokens["private"])
        // Without a profile it is the account that signed in last.
        #expect(try await call() == "subject-bob")
        #expect(try await headers(["--profile", "none"]).output.contains(tokens["private"] ?? "?"))
    }

    @Test func changesThePersonOfOneProfileAlone() async throws {
        try await signInBoth()
        let (alices, bobs) = (try await token("work"), try await token("private"))
        let path = "\(setup.directory.path)/.local/state/identityctl/profile-accounts/work.json"
        let kept = try JSONObject(parsing: Array(Data(contentsOf: URL(fileURLWithPath: path))))
        let alice = try #require(kept.string("account"))
        #expect(kept.strings("client") == ["", "", "", "", "", url])
        let chosen = try await run("accounts", "--profile", "private", "--default", alice)
        #expect(chosen.errors.contains("The profile 'private' uses it."), "\(chosen)")
        #expect(try await token("private") == alices)
        let other = try await run("accounts", "--json", "--profile", "work").output.matches(of: /"id":"([^"]+)"/)
            .map { String($0.1) }.first { $0 != alice }
        #expect(try await run("accounts", "--profile", "private", "--default", try #require(other)).status == 0)
        #expect(try await token("private") == bobs)
        #expect(try await token("work") == alices)
        // A sign-out is for the profile's account, and no other account's token stands in.
        #expect(try await run("logout", "--profile", "work").status == 0)
        #expect(try await run("token", "--profile", "work").status == 2)
        #expect(try await token("private") == bobs)
    }

    /// The first sign-in may be one that another command begins.
    @Test(arguments: ["call", "mcp"]) func bindsTheAccountOfAnySignIn(command: String) async throws {
        let tool = try Tool([command, "--profile", "work", url], variables)
        if command == "mcp" { try tool.type(#"{"id":1,"method":"x"}"#) }
        try await ScriptedBrowser(provider: nil, signingInAs: .alice).visit(try await tool.shownAddress())
        if command == "mcp" { _ = try await tool.answer(1) }
        try tool.closeInput()
        #expect(try await tool.outcome().status == 0)
        let alices = try await token("work")
        #expect(sentToken == alices)
        #expect(try await signIn(.bob, "login", "--profile", "private").status == 0)
        #expect(try await token("work") == alices)
        #expect(try await call("--profile", "work") == "subject-alice")
    }

    /// A bridge that is there before the profile's first sign-in is that person's from then on.
    @Test func aBridgeFollowsItsProfile() async throws {
        let alone = variables.merging(["IDENTITYCTL_SIGN_IN": "never"]) { $1 }
        let bridge = try Tool(["mcp", "--profile", "work", url], alone)
        try bridge.type(#"{"id":1,"method":"x"}"#)
        #expect(try await bridge.answer(1).object("error")?.string("message")?.contains("--profile work") == true)
        try await signInBoth()
        try bridge.type(#"{"id":2,"method":"x"}"#)
        _ = try await bridge.answer(2)
        let alices = try await token("work")
        #expect(sentToken == alices)
    }

    /// A registration that is made anew finds no account of the old one.
    @Test func aNewRegistrationBindsTheNextAccount() async throws {
        #expect(try await signIn(.alice, "login", "--profile", "work").status == 0)
        #expect(try await run("registration", "remove", url).status == 0)
        let login = try await signIn(.alice, "login", "--profile", "work")
        #expect(login.status == 0 && setup.provider.count(of: .registration) == 2, "\(login)")
        #expect(try await call("--profile", "work") == "subject-alice")
    }

    /// `--resource` beside the profile names another API: its account is none of the profile's.
    @Test func anotherResourceHasNoAccountOfTheProfile() async throws {
        let other = url.replacing("/mcp", with: "/elsewhere")
        #expect(try await run("profile", "add", "other", "--resource", other).status == 0)
        #expect(try await signIn(.alice, "login", "--profile", "other", "--resource", url).status == 0)
        let path = "\(setup.directory.path)/.local/state/identityctl/profile-accounts/other.json"
        #expect(!FileManager.default.fileExists(atPath: path))
        let helper = try await headers(["--profile", "other"])
        #expect(helper.status == 2 && helper.output.isEmpty, "\(helper)")
    }
}
