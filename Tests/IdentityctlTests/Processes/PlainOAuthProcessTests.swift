// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTesting
import OAuthWire
import Testing

/// A plain OAuth 2.0 server like GitHub's, with endpoints named on the command line.
@Suite struct PlainOAuthProcessTests {
    private let setup: ToolSetup
    private let variables: [String: String]

    init() throws {
        setup = try ToolSetup()
        setup.provider.settings.requiresOfflineAccess = false
        setup.provider.settings.deviceInterval = .seconds(1)
        var variables = setup.variables
        variables["IDENTITYCTL_ISSUER"] = nil
        for (name, path) in [
            ("AUTHORIZATION", "authorize"), ("TOKEN", "token"), ("DEVICE_AUTHORIZATION", "device_authorization"),
            ("REVOCATION", "revoke"),
        ] {
            variables["IDENTITYCTL_\(name)_ENDPOINT"] = "\(setup.issuer)/\(path)"
        }
        self.variables = variables
    }

    private func run(_ arguments: String...) async throws -> Tool.Outcome {
        try await Tool.run(arguments, variables)
    }

    private func login(_ arguments: String...) async throws -> Tool.Outcome {
        let tool = try Tool(["login"] + arguments, variables)
        try await ScriptedBrowser(provider: nil).visit(try await tool.shownAddress())
        return try await tool.outcome()
    }

    @Test(.timeLimit(.minutes(1))) func signsInRenewsAndRevokes() async throws {
        let login = try await login()
        #expect(login.status == 0, "\(login.errors)")
        #expect(login.errors.contains("The server does not say who that is"))
        let token = try await run("token", "--force-refresh")
        #expect(token.status == 0, "\(token.errors)")
        #expect(setup.provider.accepts(accessToken: String(token.output.dropLast())))
        let idToken = try await run("token", "--id-token", "--json")
        #expect(idToken.status == 1)
        #expect(try TroubleProcessTests.code(of: idToken) == "configuration.unsupported")
        let logout = try await run("logout", "--revoke")
        #expect(logout.status == 0, "\(logout.errors)")
        #expect(setup.provider.count(of: .revocation) == 1 && setup.provider.count(of: .discovery) == 0)
        #expect(setup.provider.requests.allSatisfy { $0["scope"]?.contains("openid") != true })
    }

    @Test(.timeLimit(.minutes(1))) func signsInOnAnotherDeviceWithoutAnIDToken() async throws {
        let tool = try Tool(["login", "--device-code"], variables)
        let code = try await tool.errorLine { $0.hasPrefix("  ") && $0.count == 11 && $0.contains("-") }
        #expect(setup.provider.approveDevice(userCode: code.trimmingCharacters(in: .whitespaces), as: .alice))
        let login = try await tool.outcome()
        #expect(login.status == 0, "\(login.errors)")
        #expect(try await run("token").status == 0)
    }

    /// Nothing identifies the person, so each further sign-in creates an account.
    @Test(.timeLimit(.minutes(1))) func signsInAgainForTheAccountThatNeedsIt() async throws {
        #expect(try await login().status == 0)
        setup.provider.revokeSessions(of: .alice)
        #expect(try await run("token", "--force-refresh").status == 2)
        let again = try await login("--if-needed", "--scope", "files.write")
        #expect(again.status == 0, "\(again.errors)")
        let accounts = try await run("accounts").output.split(separator: "\n")
        #expect(accounts.count == 1)
        #expect(try await login().status == 0)
        #expect(try await run("accounts").output.split(separator: "\n").count == 2)
        let id = try #require(accounts.first?.split(separator: "\t")[1])
        #expect(try await login("--account", String(id)).status == 0)
        #expect(try await run("accounts").output.split(separator: "\n").count == 2)
    }

    /// The advice names options of the tool, not Swift members.
    @Test(.timeLimit(.minutes(1))) func isAdvisedWhereADeviceGetsNoIDToken() async throws {
        setup.provider.failAlways(.token, with: .changing("id_token", to: nil))
        var variables = setup.variables
        variables["IDENTITYCTL_SCOPE"] = "email"
        let tool = try Tool(["login", "--device-code"], variables)
        let code = try await tool.errorLine { $0.hasPrefix("  ") && $0.count == 11 && $0.contains("-") }
        #expect(setup.provider.approveDevice(userCode: code.trimmingCharacters(in: .whitespaces), as: .alice))
        let refused = try await tool.outcome()
        #expect(refused.status == 1, "\(refused.errors)")
        let advice = try #require(refused.errorLines.last)
        #expect(advice.contains("--authorization-endpoint URL and --token-endpoint URL"))
        #expect(!refused.errors.contains("oauth2"), "\(refused.errors)")
    }

    @Test(.timeLimit(.minutes(1))) func isAdvisedWhereNoEndpointForDevicesIsPublished() async throws {
        setup.provider.failAlways(.discovery, with: .changing("device_authorization_endpoint", to: nil))
        let refused = try await setup.run("login", "--device-code")
        #expect(refused.status == 1)
        #expect(refused.errorLines.last?.contains("--device-authorization-endpoint URL") == true, "\(refused.errors)")
        let named = try Tool(
            [
                "login", "--device-code", "--device-authorization-endpoint", "\(setup.issuer)/device_authorization",
            ],
            setup.variables
        )
        _ = try await named.shownAddress()
        named.interrupt()
        #expect(try await named.outcome().status == 6)
    }

    @Test(.timeLimit(.minutes(1))) func leadsToTheOptionForAnIssuer() async throws {
        var variables = setup.variables
        variables["IDENTITYCTL_ISSUER"] = nil
        let refused = try await Tool.run(["login", "--authority", "\(setup.issuer)/realms/x"], variables)
        #expect(refused.status == 1, "\(refused.errors)")
        #expect(refused.errorLines.last?.contains("give --issuer URL") == true, "\(refused.errors)")
        let form = try await Tool.run(["login", "--authority", setup.issuer], variables)
        #expect(form.status == 64 && form.errors.contains("Its option is --issuer"), "\(form.errors)")
    }
}
