// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTesting
import OAuthWire
import Testing

/// `identityctl userinfo`
@Suite struct UserInfoProcessTests {
    @Test(.timeLimit(.minutes(1))) func printsTheClaimsOfTheAccountAndNoOthers() async throws {
        let setup = try ToolSetup()
        let unknown = try await setup.run("userinfo")
        #expect(unknown.status == 2 && unknown.errorLines.last == "To sign in, run: identityctl login")
        try await setup.signIn()

        let plain = try await setup.run("userinfo")
        #expect(plain.status == 0 && plain.errors.isEmpty)
        #expect(plain.output.hasPrefix("sub\tsubject-alice\nname\tAlice Example\n"), "\(plain.output)")
        // JSON has every claim, also one that a terminal would obey.
        setup.provider.failNext(.userInfo, with: .changing("note", to: #"{"a":["\u009B2J"]}"#))
        let json = try await setup.run("userinfo", "--account", "alice@example.test", "--json")
        #expect(json.status == 0 && json.output.hasSuffix(#","note":{"a":["\u009B2J"]}}"# + "\n"), "\(json.output)")
        #expect(try JSONObject(parsing: Array(json.output.utf8)).string("sub") == "subject-alice")

        setup.provider.failNext(.userInfo, with: .changing("sub", to: #""subject-bob""#))
        let other = try await setup.run("userinfo")
        #expect(other.status == 5 && other.output.isEmpty)
        #expect(other.errors.contains("invalid_response"))
        #expect(setup.provider.count(of: .token) == 1, "The sign-in's token is used.")
    }

    @Test(.timeLimit(.minutes(1))) func printsWhatTheProviderSaysAboutTheToken() async throws {
        let setup = try ToolSetup()
        #expect(try await setup.run("introspect").status == 2)
        try await setup.signIn()
        let plain = try await setup.run("introspect")
        #expect(plain.status == 0 && plain.output.hasPrefix("active\ttrue\nscope\t"), "\(plain.output) \(plain.errors)")
        let json = try await setup.run("introspect", "--json")
        #expect(try JSONObject(parsing: Array(json.output.utf8)).string("username") == "alice@example.test")
        setup.provider.settings.introspection = .clientsWithSecret
        let refused = try await setup.run("introspect")
        #expect(refused.status == 7 && refused.output.isEmpty && refused.errors.contains("with a secret"))
        #expect(setup.provider.count(of: .token) == 1)
    }
}
