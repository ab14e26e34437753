// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityClient
import IdentityTesting
import OAuthWire
import Testing

/// Signing in with another device, and signing out at the provider, as a script sees it.
@Suite struct DeviceProcessTests {
    private func setup() throws -> ToolSetup {
        let setup = try ToolSetup()
        setup.provider.settings.deviceInterval = .seconds(1)
        return setup
    }

    @Test(.timeLimit(.minutes(1))) func signsInWithACodeThatIsTypedElsewhere() async throws {
        let setup = try setup()
        let tool = try Tool(["login", "--device-code"], setup.variables)
        let address = try await tool.shownAddress()
        #expect(address.absoluteString.hasPrefix(setup.issuer) && address.query == nil)
        let code = try await tool.errorLine { $0.hasPrefix("  ") && $0.count == 11 && $0.contains("-") }
        #expect(setup.provider.approveDevice(userCode: code.trimmingCharacters(in: .whitespaces), as: .alice))
        let login = try await tool.outcome()
        #expect(login.status == 0, "\(login.errors)")
        #expect(setup.provider.accepts(accessToken: String(login.output.dropLast())))
        #expect(login.errorLines.last == "Signed in as alice@example.test.")
        // A QR code is useful only on a terminal.
        #expect(!login.errors.contains("█") && !login.errors.contains("\u{1B}"))
        #expect(try await setup.run("token").output == login.output)
    }

    @Test(.timeLimit(.minutes(1))) func givesTheCodeAsJSON() async throws {
        let setup = try setup()
        let tool = try Tool(["login", "--device-code", "--json"], setup.variables)
        let line = try await tool.errorLine { $0.hasPrefix("{") }
        let shown = try #require(try JSONObject(parsing: Array(line.utf8)).object("deviceCode"))
        #expect(
            shown.members.map(\.name) == [
                "userCode", "verificationURI", "verificationURIComplete", "message", "expiresOn",
            ]
        )
        #expect(setup.provider.denyDevice(userCode: try #require(shown.string("userCode"))))
        let outcome = try await tool.outcome()
        #expect(outcome.status == 7 && outcome.output.isEmpty)
        #expect(outcome.errorLines.last?.contains("user_cancelled.access_denied") == true)
    }

    @Test(.timeLimit(.minutes(1))) func endsAtCtrlCAndAtItsTimeOut() async throws {
        let setup = try setup()
        let tool = try Tool(["login", "--device-code"], setup.variables)
        _ = try await tool.shownAddress()
        tool.interrupt()
        #expect(try await tool.outcome().status == 6)
        let late = try await setup.run("login", "--device-code", "--timeout", "4")
        #expect(late.status == 6 && late.errors.contains("The time was over") && late.errors.contains("Start again"))
        #expect(try await setup.run("login", "--device-code", "--manual").status == 64)
    }

    @Test(.timeLimit(.minutes(1))) func refusesWhatItWouldIgnore() async throws {
        let setup = try setup()
        let prompt = try await setup.run("login", "--device-code", "--prompt", "login")
        #expect(prompt.status == 64 && prompt.errors.contains("--prompt: not together with --device-code"))
        let account = try await setup.run("login", "--device-code", "--account", "bob")
        #expect(account.status == 64 && account.errors.contains("--account: 'bob' is not signed in here"))
        #expect(setup.provider.count(of: .deviceAuthorization) == 0)
    }

    @Test(.timeLimit(.minutes(1))) func signsOutAtTheProviderToo() async throws {
        let setup = try setup()
        try await setup.signIn()
        let opened = setup.directory.appendingPathComponent("opened")
        let browser = setup.directory.appendingPathComponent("browser")
        // It notes what it was started with, and where that leads.
        try """
        #!/usr/bin/python3
        import http.client, sys, urllib.parse
        parts = urllib.parse.urlsplit(sys.argv[1])
        connection = http.client.HTTPConnection(parts.netloc)
        connection.request("GET", parts.path)
        with open("\(opened.path)", "w") as file:
            file.write(sys.argv[1] + "\\n" + connection.getresponse().getheader("Location"))

        """.write(to: browser, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: browser.path)
        let logout = try await setup.run("logout", "--revoke", "--end-session", "--browser", browser.path)
        #expect(logout.status == 0, "\(logout.errors)")
        #expect(
            logout.errorLines == [
                "Signed out alice@example.test.", "The provider says that the refresh token is revoked.",
                "Finish signing out on the provider's page in the browser.",
            ]
        )
        #expect(logout.output.isEmpty)
        #expect(setup.provider.count(of: .revocation) == 1)
        let addresses = try String(contentsOf: opened, encoding: .utf8).split(separator: "\n")
        #expect(addresses.first?.hasPrefix("http://127.0.0.1:") == true && !addresses[0].contains("id_token_hint"))
        #expect(addresses.last?.hasPrefix(setup.issuer) == true && addresses[1].contains("id_token_hint="))
        #expect(!logout.errors.contains("id_token_hint"))
    }

    @Test(.timeLimit(.minutes(1))) func saysWhichPartOfASignOutFailed() async throws {
        let setup = try setup()
        try await setup.signIn()
        setup.provider.failAlways(.revocation, with: .serverError())
        let logout = try await setup.run("logout", "--revoke", "--json")
        #expect(logout.status == 3)
        #expect(logout.output.contains(#""revocation":"failed","browserSession":"notRequested""#))
        #expect(logout.errors.contains("Signed out alice@example.test."))
        #expect(try TroubleProcessTests.code(of: logout)?.hasPrefix("server_unavailable") == true)
        #expect(try await setup.run("accounts", "--json").output == "[]\n")
    }

    @Test(.timeLimit(.minutes(1))) func endsWithAStatusOfItsOwnWhereNothingCouldBeRevoked() async throws {
        let setup = try setup()
        setup.provider.failAlways(.discovery, with: .changing("revocation_endpoint", to: nil))
        try await setup.signIn()
        let logout = try await setup.run("logout", "--revoke")
        #expect(logout.status == 10 && logout.errors.contains("revoked"), "\(logout.errors)")
        #expect(try await setup.run("accounts", "--json").output == "[]\n")
    }

    @Test(.timeLimit(.minutes(1))) func saysWhatASignOutThatWasCutOffHasDone() async throws {
        let setup = try setup()
        for person in [TestIdentityProvider.Person.alice, .bob] {
            try await setup.signIn(as: person)
        }
        let gate = TestGate()
        setup.provider.failNext(.revocation, with: .delay(.zero))
        setup.provider.failNext(.revocation, with: .held(by: gate))
        let tool = try Tool(["logout", "--all", "--revoke", "--json"], setup.variables)
        try await tool.poll("the second revocation") { setup.provider.count(of: .revocation) == 2 ? () : nil }
        tool.interrupt()
        let logout = try await tool.outcome()
        gate.open()
        #expect(logout.status == 6)
        #expect(logout.output.split(separator: "revocation").count == 2, "\(logout.output)")
        #expect(logout.errorLines.filter { $0.hasPrefix("Signed out ") }.count == 2, "\(logout.errors)")
        #expect(try TroubleProcessTests.code(of: logout) == "user_cancelled")
        #expect(try await setup.run("accounts", "--json").output == "[]\n")
    }

    @Test(.timeLimit(.minutes(1))) func showsNoAddressOfTheSignOutPageToALog() async throws {
        let setup = try setup()
        try await setup.signIn()
        let logout = try await setup.run("logout", "--end-session", "--browser", "/nowhere/browser")
        #expect(logout.status == 8)
        #expect(logout.errors.contains("At a terminal") && !logout.errors.contains("id_token_hint"))
    }
}
