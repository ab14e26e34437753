// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTesting
import OAuthWire
import Testing

@testable import identityctl

/// Two profiles of one client, whose tokens are in one store.
@Suite struct ProfileAccountProcessTests {
    private let person: Person
    private let other: Person

    init() async throws {
        var person = try await Person(serves: "https://git.test")
        // A sign-in that hands out a token asks for the profile's account.
        person.variables["IDENTITYCTL_PRINT_TOKEN"] = nil
        try await person.addProfile("admin", serves: [])
        self.person = person
        var other = person
        other.variables["IDENTITYCTL_PRINT_TOKEN"] = "1"
        self.other = other
    }

    private func login(
        _ profile: String,
        as who: TestIdentityProvider.Person,
        _ arguments: String...,
        printsToken: Bool = false
    ) async throws -> Tool.Outcome {
        let variables = printsToken ? other.variables : person.variables
        let tool = try Tool(["login", "--profile", profile] + arguments, variables)
        try await ScriptedBrowser(provider: nil, signingInAs: who, behaviour: .approve)
            .visit(try await tool.shownAddress())
        return try await tool.outcome()
    }

    private func subject(of profile: String) async throws -> String? {
        let outcome = try await person.run(["userinfo", "--json", "--profile", profile])
        #expect(outcome.status == 0, "\(outcome)")
        return try JSONObject(parsing: Array(outcome.output.utf8)).string("preferred_username")
    }

    private func gitToken() async throws -> Substring? {
        let tool = try Tool(["helper", "git", "get"], person.variables)
        try tool.type("protocol=https\nhost=git.test\n\n")
        try tool.closeInput()
        let lines = try await tool.outcome().output.split(separator: "\n")
        return lines.first { $0.hasPrefix("password=") }?.dropFirst("password=".count)
    }

    @Test(.timeLimit(.minutes(1))) func keepsThePersonOfAProfile() async throws {
        #expect(try await login("work", as: .alice).status == 0)
        let token = try await person.run(["token", "--profile", "work"]).output.dropLast()
        let second = try await login("admin", as: .bob)
        #expect(second.status == 0 && second.errors.contains("The default account is bob@example.test"), "\(second)")
        #expect(try await subject(of: "work") == "alice@example.test")
        #expect(try await subject(of: "admin") == "bob@example.test")
        #expect(try await gitToken() == token)
        // Neither command changed the profiles themselves.
        #expect(person.text(".config/identityctl/profiles/work.conf")?.contains("account") == false)
    }

    @Test(.timeLimit(.minutes(1))) func saysThatAnotherPersonSignedIn() async throws {
        #expect(try await login("work", as: .alice).status == 0)
        let second = try await login("work", as: .bob)
        #expect(second.status == 0 && second.errors.contains("stays alice@example.test's"), "\(second)")
        #expect(try await subject(of: "work") == "alice@example.test")
        let chosen = try await person.run(["accounts", "--profile", "work", "--default", "bob@example.test"])
        #expect(chosen.status == 0 && chosen.errors.contains("The profile 'work' uses it."), "\(chosen)")
        #expect(try await subject(of: "work") == "bob@example.test")
    }

    @Test(.timeLimit(.minutes(1))) func handsOutNoOtherPersonsToken() async throws {
        #expect(try await login("work", as: .alice).status == 0)
        let refused = try await login("work", as: .bob, printsToken: true)
        #expect(refused.status == 2 && refused.output.isEmpty, "\(refused)")
        #expect(refused.errors.contains("identityctl logout --profile work"), "\(refused)")
        // Where the profile's own account is gone, another sign-in is no success.
        let id = try await person.run(["accounts", "--profile", "work"]).output.split(separator: "\t")[1]
        #expect(try await person.run(["logout", "--profile", "admin", "--account", String(id)]).status == 0)
        let late = try await login("work", as: .bob)
        #expect(late.status == 2 && late.errors.contains("is alice@example.test's"), "\(late)")
        #expect(try await gitToken() == nil)
    }

    @Test(.timeLimit(.minutes(1))) func givesAProfileToAnotherPersonAfterALogout() async throws {
        #expect(try await login("work", as: .alice).status == 0)
        #expect(try await login("admin", as: .bob).status == 0)
        #expect(try await person.run(["logout", "--profile", "work"]).status == 0)
        // Bob is signed in for the other profile, and no token of his is handed out for this one.
        #expect(try await person.run(["token", "--profile", "work"]).status == 2)
        #expect(try await login("work", as: .bob, "--if-needed").status == 0)
        #expect(try await subject(of: "work") == "bob@example.test")
    }

    @Test(.timeLimit(.minutes(1))) func forgetsTheAccountOfAProfileThatIsMadeAnew() async throws {
        #expect(try await login("work", as: .alice).status == 0)
        #expect(try await login("admin", as: .bob).status == 0)
        #expect(try await person.run(["profile", "show", "work"]).output.contains("alice@example.test"))
        #expect(try await person.run(["profile", "remove", "work"]).status == 0)
        let again = [
            "--client-id", "test-client", "--issuer", person.setup.issuer, "--scope", "files.read",
            "--cache", "file:\(person.home)/cache",
        ]
        #expect(try await person.run(["profile", "add", "work"] + again).status == 0)
        #expect(try await subject(of: "work") == "bob@example.test")
        let path = ".local/state/identityctl/profile-accounts/admin.json"
        try person.write("{", to: path)
        let damaged = try await person.run(["token", "--profile", "admin"])
        #expect(damaged.status == 64 && damaged.errors.contains("admin.json"), "\(damaged)")
    }

    /// The kept account is one of the client and the provider that the profile had then.
    @Test(.timeLimit(.minutes(1)), arguments: ["client-id = other", "issuer = https://other.test"])
    func forgetsTheAccountWithTheClientOrTheProvider(line: String) async throws {
        #expect(try await login("work", as: .alice).status == 0)
        let path = ".config/identityctl/profiles/work.conf"
        let text = try #require(person.text(path))
        let name = line.prefix { $0 != " " }
        let lines = text.split(separator: "\n").map { $0.hasPrefix(name) ? Substring(line) : $0 }
        try person.write(lines.joined(separator: "\n") + "\n", to: path)
        let changed = try await person.run(["profile", "show", "work"])
        #expect(changed.status == 0 && changed.output.contains(line), "\(changed)")
        #expect(!changed.output.contains("alice@example.test"), "\(changed)")
        try person.write(text, to: path)
        #expect(try await person.run(["profile", "show", "work"]).output.contains("alice@example.test"))
    }

    @Test(.timeLimit(.minutes(1))) func leavesALineAboutTheAccountAlone() async throws {
        let path = ".config/identityctl/profiles/admin.conf"
        let text = try #require(person.text(path))
        try person.write(text + "account = bob@example.test\n", to: path)
        #expect(try await login("admin", as: .bob).status == 0)
        #expect(person.text(".local/state/identityctl/profile-accounts/admin.json") == nil)
    }
}
