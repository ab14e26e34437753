// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTesting
import OAuthWire
import Testing

/// The tool with a real GNOME Keyring.
@Suite(.enabled(if: keyringSupport != nil, "run Scripts/test-keyring"), .serialized)
struct KeyringProcessTests {
    @Test(.timeLimit(.minutes(1)), arguments: [["--cache", "keyring"], []])
    func comesBackAfterALockWithoutANewSignIn(_ options: [String]) async throws {
        let setup = try KeyringSetup()
        let tool = try Tool(["login"] + options, setup.variables)
        try await ScriptedBrowser(provider: nil).visit(try await tool.shownAddress())
        let login = try await tool.outcome()
        #expect(login.status == 0, "\(login.errors)")
        let items = try setup.command("secret-tool search --all xdg:schema SwiftIdentityClient.Record")
        #expect(items.contains(options.isEmpty ? "label = identityctl (key)" : "label = identityctl (sign-in)"))
        setup.tool.provider.forgetRequests()
        #expect(try await setup.run("token").output == login.output)

        try setup.lock()
        let start = ContinuousClock.now
        for command in ["token", "accounts", "login"] {
            let locked = try await setup.run(command, "--json")
            #expect(locked.status == 4, "\(command): \(locked.errors)")
            #expect(try TroubleProcessTests.code(of: locked) == "cache.keyring_locked")
            #expect(locked.errors.contains("no need to sign in again"))
        }
        // Three processes, one after the other.
        #expect(start.duration(to: .now) < .seconds(3))

        try setup.unlock()
        let back = try await setup.run("token")
        #expect(back.output == login.output, "\(back.errors)")
        #expect(setup.tool.provider.requests.isEmpty)
    }

    /// A locked keyring and an old bus address pass: nothing that loses a sign-in is advised.
    @Test(.timeLimit(.minutes(1))) func advisesNothingThatLosesASignIn() async throws {
        let setup = try KeyringSetup()
        #expect(try await setup.login().status == 0)
        var variables = setup.variables
        let socket = try #require(variables["DBUS_SESSION_BUS_ADDRESS"]?.dropFirst("unix:path=".count))
        variables["XDG_RUNTIME_DIR"] = (String(socket) as NSString).deletingLastPathComponent
        variables["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=/tmp/dbus-of-an-earlier-session"
        for command in ["token", "doctor"] {
            let stale = try await Tool.run([command], variables)
            let text = stale.output + stale.errors
            #expect(stale.status != 0 && text.contains("unset DBUS_SESSION_BUS_ADDRESS"), "\(text)")
            #expect(text.contains(socket) && !text.contains("--discard"), "\(text)")
        }
        variables["DBUS_SESSION_BUS_ADDRESS"] = nil
        #expect(try await Tool.run(["token"], variables).status == 0)
        try setup.lock()
        for command in ["token", "doctor"] {
            let locked = try await setup.run(command)
            #expect(locked.status != 0 && !(locked.output + locked.errors).contains("--discard"), "\(locked)")
        }
    }

    /// The keyring is locked while the provider answers: nothing that is said is about tokens that are not there.
    @Test(.timeLimit(.minutes(1)), arguments: ["import", "login", "token"])
    func saysNothingUntrueAboutTokensThatAreNotStored(_ command: String) async throws {
        let (setup, options) = (try KeyringSetup(), ["--cache", "keyring"])
        let provider = setup.tool.provider
        let path = "\(setup.tool.directory.path)/token"
        #expect(try await setup.login(["--cache", "file:\(setup.tool.directory.path)/cache"]).status == 0)
        try Data(try setup.tool.refreshToken().utf8).write(to: URL(fileURLWithPath: path))
        var variables = setup.variables
        variables["IDENTITYCTL_PRINT_TOKEN"] = nil
        if command != "import" { #expect(try await setup.login(options).status == 0) }
        provider.forgetRequests()
        let gate = TestGate()
        provider.failNext(.token, with: .held(by: gate))
        let words = ["import": ["--refresh-token-file", path], "token": ["--force-refresh"]][command] ?? []
        let tool = try Tool([command] + words + options, variables)
        let address = command == "login" ? try await tool.shownAddress() : nil
        // The page comes when the tokens are there.
        let visit = Task {
            if let address { try await ScriptedBrowser(provider: nil, signingInAs: .bob).visit(address) }
        }
        try await provider.waitForRequest(.token)
        try setup.lock()
        gate.open()
        try await visit.value
        let outcome = try await tool.outcome()
        #expect(outcome.status == (command == "login" ? 4 : 11), "\(outcome)")
        #expect(outcome.errors.contains("(cache.keyring_locked"), "\(outcome.errors)")
        for untrue in ["Took over", "Signed in as", "default account is", "no need to sign in"] {
            #expect(!outcome.errors.contains(untrue), "\(outcome.errors)")
        }
    }

    /// A keyring that does not answer is waited for once, and the bus is not blamed.
    @Test(.timeLimit(.minutes(1))) func examinesAMuteKeyring() async throws {
        let setup = try KeyringSetup()
        #expect(try await setup.login().status == 0)
        try setup.stopKeyring()
        let start = ContinuousClock.now
        let table = try await setup.run("doctor", "--without-browser")
        #expect(start.duration(to: .now) < .seconds(9))
        #expect(table.status == 4 && table.output.contains("session bus     ok    there is one"), "\(table.output)")
        #expect(table.output.contains("token store     lack  encrypted-file cannot be read"), "\(table.output)")
        #expect(!table.output.contains("--discard"))
        try setup.continueKeyring()
    }

    @Test(.timeLimit(.minutes(1))) func opensNoBrowserIfTokensCannotBeStored() async throws {
        let setup = try KeyringSetup()
        try setup.lock()
        let login = try await setup.run("login")
        #expect(login.status == 4)
        #expect(login.errors.contains("Unlock it") && !login.errors.contains("--cache file"))
        #expect(!login.errors.contains("Opening the browser"))
        #expect(setup.tool.provider.requests.isEmpty)
    }

    /// MSAL Python and Node store JSON, .NET, Go and Java Base64 of it.
    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            (
                "azure-identity-python", "xdg:schema msal.cache.nocae MsalClientID Microsoft.Developer.IdentityService",
                false
            ),
            (
                "git-credential-manager",
                "xdg:schema msal.cache MsalClientID Microsoft.Developer.IdentityService "
                    + "Microsoft.Developer.IdentityService 1.0.0.0", true
            ),
            ("xdg:schema=com.contoso.tokens,Version=1", "xdg:schema com.contoso.tokens Version 1", true),
        ]
    ) func takesAccountsOverFromAnItemOfAnotherProgram(_ name: String, _ attributes: String, isBase64: Bool)
        async throws
    {
        let setup = try KeyringSetup()
        let file = "\(setup.tool.directory.path)/content"
        let content = Data(ImportProcessTests.content.utf8)
        try (isBase64 ? content.base64EncodedData() : content).write(to: URL(fileURLWithPath: file))
        _ = try setup.command("secret-tool store --label=other \(attributes) < '\(file)'")
        let arguments = [
            "--client-id", "client", "--authority", "https://login.microsoftonline.com/organizations", "--cache",
            "file:\(setup.tool.directory.path)/own",
        ]
        let variables = setup.variables.filter { !["IDENTITYCTL_CLIENT_ID", "IDENTITYCTL_ISSUER"].contains($0.key) }
        let first = try await Tool.run(["import", "--from", "keyring:" + name] + arguments, variables)
        #expect(first.status == 0 && first.errors == "Took over alice@contoso.com (u.t).\n", "\(first.errors)")
        #expect(try await Tool.run(["token", "--scope", "mail.read"] + arguments, variables).output == "token\n")
        let left = try setup.command("secret-tool lookup \(attributes)")
        #expect(Data(left.utf8) == (isBase64 ? content.base64EncodedData() : content))
        let missing = try await Tool.run(["import", "--from", "keyring:a=b"] + arguments, variables)
        #expect(missing.status == 2 && missing.errors.contains("has no account of this client"))
    }

    /// During a sign-in a person is present; a script that asks for a token has no person to type the password.
    @Test(.timeLimit(.minutes(1))) func asksForThePasswordOnAScreenOnlyToSignIn() async throws {
        let setup = try KeyringSetup(hasScreen: true)
        #expect(try await setup.login().status == 0)
        try setup.lock()
        #expect(try await setup.run("token").status == 4)
        #expect(try setup.dialogs() == 0)
        let tool = try Tool(["login"], setup.variables)
        let deadline = ContinuousClock.now + .seconds(20)
        while try setup.dialogs() == 0, ContinuousClock.now < deadline {}
        try setup.answer()
        try await ScriptedBrowser(provider: nil).visit(try await tool.shownAddress())
        let login = try await tool.outcome()
        #expect(login.status == 0, "\(login.errors)")
        #expect(try await setup.run("token").output == login.output)
    }

    @Test(.timeLimit(.minutes(1))) func movesTheTokensAndKeepsTheSignIn() async throws {
        let setup = try KeyringSetup()
        let login = try await setup.login()
        let group = "xdg:schema SwiftIdentityClient.Record"
        // The key stays: encrypted files in another directory may need it.
        for (store, labels) in [
            ("keyring", ["(sign-in)", "(key)"]), ("file", ["(key)"]), ("encrypted-file", ["(key)"]),
        ] {
            let moved = try await setup.run("cache", "move", "--to", store)
            #expect(moved.status == 0, "\(moved.errors)")
            #expect(try await setup.run("cache").output == store + "\n")
            #expect(try await setup.run("token").output == login.output)
            let items = try setup.command("secret-tool search --all \(group) || true")
            for name in ["(sign-in)", "(key)"] {
                #expect(items.contains(name) == labels.contains(name), "\(store): \(items)")
            }
        }
    }

    /// The counterpart of keychain sharing groups on other systems.
    @Test(.timeLimit(.minutes(1)), arguments: ["auto", "keyring"])
    func sharesASignInBetweenProgramsOfAGroup(_ cache: String) async throws {
        let setup = try KeyringSetup()
        let login = try await setup.login("--group", "suite", "--cache", cache)
        #expect(login.status == 0, "\(login.errors)")
        setup.tool.provider.forgetRequests()
        let accounts = try await setup.run("accounts", "--group", "suite")
        #expect(accounts.output.hasPrefix("alice@example.test\t"))
        // Another program with the same client id; one with another; one of another group.
        #expect(try await setup.run("token", "--group", "suite", "--cache", cache).output == login.output)
        let other = ["--group", "suite", "--client-id", "other-client"]
        #expect(try await Tool.run(["accounts"] + other, setup.variables).output == accounts.output)
        #expect(try await Tool.run(["token"] + other, setup.variables).status == 2)
        for stranger in [["--group", "another"], []] {
            #expect(try await Tool.run(["accounts"] + stranger, setup.variables).output == "")
            #expect(try await Tool.run(["token"] + stranger, setup.variables).status == 2)
        }
        #expect(try await Tool.run(["logout"] + other, setup.variables).status == 0)
        #expect(try await setup.run("token", "--group", "suite").status == 2)
        #expect(try await setup.run("accounts", "--group", "suite").output == "")
        #expect(setup.tool.provider.requests.isEmpty)
    }

    /// The keyring is open, and everything looks well.
    @Test(.timeLimit(.minutes(1))) func noticesThatTheKeyOfEncryptedFilesIsGone() async throws {
        let setup = try KeyringSetup()
        #expect(try await setup.login().status == 0)
        func row() async throws -> Substring? {
            let table = try await setup.run("doctor", "--without-browser").output
            return table.split(separator: "\n").first { $0.hasPrefix("token store") }
        }
        #expect(try await row() == "token store     ok    encrypted-file")
        _ = try setup.command("secret-tool clear xdg:schema SwiftIdentityClient.Record")
        #expect(try await row()?.hasPrefix("token store     lack") == true)
        let stuck = try await setup.run("token")
        #expect(stuck.status == 4 && stuck.errors.hasSuffix("identityctl doctor\n"), "\(stuck.errors)")
        #expect(!stuck.errors.contains("--discard") && !stuck.errors.contains("remove"), "\(stuck.errors)")
        #expect(try await setup.run("doctor").output.contains("sign in anew: identityctl logout --discard\n"))
        #expect(try await setup.run("logout", "--discard").status == 0)
        #expect(try await setup.login().status == 0)
    }
}
