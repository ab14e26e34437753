// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTesting
import OAuthWire
import Testing

/// The options for Entra ID alone, with two clouds on the loopback interface.
@Suite struct EntraProcessTests {
    private let setup: ToolSetup
    private let variables: [String: String]
    /// The host of the other cloud.
    private let theirs: String
    private let grace: TestIdentityProvider.Person

    init() throws {
        setup = try ToolSetup(.entra)
        let address = try #require(URLComponents(string: setup.issuer))
        let port = try #require(address.port)
        theirs = "127.0.0.1:\(port)"
        grace = TestIdentityProvider.Person(
            username: "grace@agency.example",
            password: "correct horse",
            name: "Grace Example",
            subject: "subject-grace",
            objectID: "cccccccc-0000-4000-8000-000000000003",
            cloudHost: theirs
        )
        setup.provider.add(grace)
        var variables = setup.variables
        for name in ["ISSUER", "PRINT_TOKEN"] { variables["IDENTITYCTL_\(name)"] = nil }
        variables["IDENTITYCTL_AUTHORITY"] = "http://localhost:\(port)/organizations"
        variables["HOME"] = setup.directory.path
        self.variables = variables
    }

    private func run(_ arguments: String..., more: [String: String] = [:]) async throws -> Tool.Outcome {
        try await Tool.run(arguments, variables.merging(more) { $1 })
    }

    private func login(_ arguments: String..., as person: TestIdentityProvider.Person) async throws -> Tool.Outcome {
        let tool = try Tool(["login"] + arguments, variables)
        try await ScriptedBrowser(provider: nil, signingInAs: person).visit(try await tool.shownAddress())
        return try await tool.outcome()
    }

    @Test(.timeLimit(.minutes(1))) func keepsTheAccountsOfTwoClouds() async throws {
        let (alice, other) = (try await login(as: .alice), try await login("--instance-aware", as: grace))
        #expect(alice.status == 0 && other.status == 0, "\(alice.errors) \(other.errors)")
        #expect(other.errors.contains("Signed in as grace@agency.example."))
        #expect(other.errors.contains("identityctl token --instance-aware"), "\(other.errors)")
        let own = try await run("accounts")
        #expect(own.output.contains("alice@example.test") && !own.output.contains("grace@"), "\(own)")
        let all = try await run("accounts", more: ["IDENTITYCTL_INSTANCE_AWARE": "1"])
        #expect(all.output.contains("alice@example.test") && all.output.contains(theirs), "\(all)")

        let account = ["--account", "grace@agency.example"]
        setup.provider.forgetRequests()
        let token = try await Tool.run(["token", "--instance-aware", "--force-refresh"] + account, variables)
        #expect(token.status == 0, "\(token)")
        #expect(setup.provider.introspect(accessToken: String(token.output.dropLast()))?.person == grace)
        #expect(setup.provider.requests.last { $0.endpoint == .token }?.url.contains(theirs) == true, "\(token)")

        let authority = try #require(variables["IDENTITYCTL_AUTHORITY"])
        let cache = try #require(variables["IDENTITYCTL_CACHE"])
        let options = [
            "--client-id", "test-client", "--authority", authority, "--scope", "files.read", "--cache", cache,
        ]
        let set = ["--set", "instance-aware=on"]
        let profile = try await Tool.run(["profile", "add", "work"] + options + set, variables)
        #expect(profile.status == 0, "\(profile)")
        let bare = ["HOME": setup.directory.path]
        let cached = try await Tool.run(["token", "--profile", "work"] + account, bare)
        #expect(cached.output == token.output, "\(cached)")
        let logout = try await Tool.run(["logout", "--profile", "work"] + account, bare)
        #expect(logout.errors.contains("Signed out grace@agency.example."), "\(logout)")
        #expect(try await Tool.run(["accounts", "--profile", "work"], bare).output == own.output)
    }

    @Test(.timeLimit(.minutes(1))) func bridgesAnOutageWithAnExpiredToken() async throws {
        setup.provider.settings.accessTokenLifetime = .zero
        setup.provider.settings.extendedLifetime = .seconds(3600)
        let login = try await login(as: .alice)
        #expect(login.status == 0, "\(login.errors)")
        setup.provider.failAlways(.token, with: .serverError())
        let refused = try await run("token")
        #expect(refused.status == 3 && refused.output.isEmpty, "\(refused)")
        let token = try await run("token", "--extended-lifetime", "--json")
        let report = try JSONObject(parsing: Array(token.output.utf8))
        #expect(token.status == 0 && report.bool("isExtendedLifetimeToken") == true, "\(token)")
        let plain = try await run("token", more: ["IDENTITYCTL_EXTENDED_LIFETIME": "1"])
        #expect(plain.output == (report.string("accessToken") ?? "") + "\n", "\(plain)")
        #expect(plain.errors.contains("Warning:"))
    }
}
