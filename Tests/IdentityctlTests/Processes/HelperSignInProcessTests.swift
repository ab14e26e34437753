// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTesting
import Testing

@testable import identityctl

/// Helpers that open the browser by themselves.
@Suite struct HelperSignInProcessTests {
    /// A person at a desktop whose browser is watched.
    private struct Desktop {
        let person: Person
        let browser = BrowserStandIn()
        let variables: [String: String]

        init(_ lines: String...) async throws {
            person = try await Person(serves: "https://git.test")
            for line in lines { #expect(try await person.run(["profile", "set", "work", line]).status == 0) }
            var variables = person.variables.filter { $0.key != "IDENTITYCTL_PRINT_TOKEN" }
            variables["IDENTITYCTL_BROWSER"] = try browser.command
            variables["DISPLAY"] = ":99"
            self.variables = variables
        }

        func helper(_ more: [String: String] = [:]) throws -> Tool {
            let tool = try Tool(["helper", "git", "get"], variables.merging(more) { $1 })
            try tool.type("protocol=https\nhost=git.test\n")
            try tool.closeInput()
            return tool
        }
    }

    @Test(.timeLimit(.minutes(1))) func openOneTabForAllCallers() async throws {
        let desktop = try await Desktop("sign-in=when-needed")
        let helpers = try (0..<5).map { _ in try desktop.helper() }
        let address = try await helpers[0].poll("a page") { desktop.browser.address }
        try await ScriptedBrowser(provider: nil, signingInAs: .alice, behaviour: .approve)
            .visit(try #require(URL(string: address)))
        for helper in helpers {
            let outcome = try await helper.outcome()
            #expect(outcome.status == 0 && outcome.output.contains("password="), "\(outcome)")
        }
        #expect(desktop.person.setup.provider.count(of: .token) == 1)
    }

    /// Mail programs and rclone run this command, and no helper.
    @Test(.timeLimit(.minutes(1))) func openTheTabForTheCommandThatPrintsAToken() async throws {
        let plain = try await Desktop()
        let refused = try await Tool.run(["token", "--profile", "work"], plain.variables)
        #expect(refused.status == 2 && plain.browser.address == nil)
        let desktop = try await Desktop("sign-in=when-needed")
        // The store of other sign-ins.
        try FileManager.default.createDirectory(
            at: desktop.person.setup.directory.appending(path: "cache"),
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        let programs = try (0..<3).map { _ in try Tool(["token", "--profile", "work"], desktop.variables) }
        let address = try await programs[0].poll("a page") { desktop.browser.address }
        try await ScriptedBrowser(provider: nil).visit(try #require(URL(string: address)))
        for program in programs {
            let outcome = try await program.outcome()
            let token = String(outcome.output.dropLast())
            #expect(outcome.status == 0 && desktop.person.setup.provider.accepts(accessToken: token), "\(outcome)")
        }
        #expect(desktop.person.setup.provider.count(of: .authorization) == 1)
    }

    @Test(.timeLimit(.minutes(1))) func openNoFurtherTabAfterASignInThatCameToNothing() async throws {
        let desktop = try await Desktop("sign-in=when-needed", "timeout=4")
        let helpers = try (0..<3).map { _ in try desktop.helper() }
        var opened = 0
        for helper in helpers {
            let outcome = try await helper.outcome()
            #expect(outcome.output == "quit=1\n", "\(outcome)")
            if outcome.errors.contains("Opening the browser") { opened += 1 }
        }
        #expect(desktop.browser.address != nil)
        #expect(opened == 1)
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            ([], [:]), (["sign-in=never"], [:]), (["sign-in=when-needed"], ["DISPLAY": "", "IDENTITYCTL_BROWSER": ""]),
            (["sign-in=when-needed"], ["SSH_CONNECTION": "192.0.2.1 1 192.0.2.2 22"]),
        ] as [([String], [String: String])]
    )
    func openNoneWhereThePersonDidNotAllowIt(lines: [String], variables: [String: String]) async throws {
        let desktop = try await Desktop()
        for line in lines { #expect(try await desktop.person.run(["profile", "set", "work", line]).status == 0) }
        let outcome = try await desktop.helper(variables).outcome()
        #expect(
            outcome.output == "quit=1\n" && outcome.errors.contains("To sign in, run: identityctl login"),
            "\(outcome)"
        )
        #expect(desktop.browser.address == nil)
    }

    @Test(.timeLimit(.minutes(1))) func refuseAnotherWord() async throws {
        let person = try await Person(serves: "https://git.test")
        let refused = try await person.run(["profile", "set", "work", "sign-in=sometimes"])
        #expect(refused.status == 64 && refused.errors.contains("never nor when-needed"), "\(refused)")
    }
}
