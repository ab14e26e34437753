// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityClient
import IdentityTesting
import OAuthWire
import Testing

/// Token stores on a machine without a keyring: over SSH, in a container.
@Suite struct StoreProcessTests {
    private let setup: ToolSetup
    private let variables: [String: String]

    init() throws {
        setup = try ToolSetup()
        variables = setup.variablesWithoutKeyring(state: setup.directory.path)
    }

    private func run(_ arguments: String...) async throws -> Tool.Outcome {
        try await Tool.run(arguments, variables)
    }

    private func login(_ arguments: String..., printing: Bool = true) async throws -> Tool.Outcome {
        let variables = variables.merging(["IDENTITYCTL_PRINT_TOKEN": printing ? "1" : "0"]) { $1 }
        let tool = try Tool(["login"] + arguments, variables)
        try await ScriptedBrowser(provider: nil).visit(try await tool.shownAddress())
        return try await tool.outcome()
    }

    private func files() throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: setup.directory.path)
    }

    @Test(.timeLimit(.minutes(1)), arguments: KeyringLibrary.states)
    func saysAtOnceHowToKeepTokensWithoutAKeyring(_ library: KeyringLibrary) async throws {
        let libraries = try ToolSetup()
        let hiding = try library.variables(in: libraries.directory)
        let refused = try await Tool.run(["login", "--json"], variables.merging(hiding) { $1 })
        #expect(refused.status == 4)
        #expect(try TroubleProcessTests.code(of: refused) == library.code)
        let choice = "--cache 'encrypted:key-file=~/.config/identityctl/token.key' --manual"
        #expect(refused.errors.contains("identityctl login \(choice)"), "\(refused.errors)")
        let again = try await run("login", "--cache", "auto", "--group", "mine")
        #expect(again.errorLines.last?.hasSuffix("identityctl login --group mine \(choice)") == true)
        #expect(setup.provider.requests.isEmpty)
        #expect(try files().isEmpty)
        #expect(try await run("cache", "show").output == "none\n")
    }

    /// The missing keyring is not the reason: no account is signed in.
    @Test(.timeLimit(.minutes(1))) func saysThatNoAccountIsSignedInBeforeAnyStoreWasChosen() async throws {
        let accounts = try await run("accounts", "--json")
        #expect(accounts.status == 0 && accounts.output == "[]\n" && accounts.errors.isEmpty, "\(accounts)")
        let logout = try await run("logout")
        #expect(logout.status == 0 && logout.errorLines == ["No account is signed in."], "\(logout)")
        let token = try await run("token", "--account", "alice", "--json")
        #expect(try TroubleProcessTests.code(of: token) == "interaction_required.no_tokens")
        #expect(token.status == 2 && token.errors.contains("cache create-key"), "\(token)")
        for (command, variables) in [("call", variables), ("mcp", ["HOME": setup.directory.path])] {
            let refused = try await Tool.run([command, "http://api.example.com/"], variables)
            #expect(refused.status == 64 && refused.errors.contains("over http only to this computer"), "\(refused)")
            #expect(refused.errorLines.count == 1, "\(refused)")
        }
    }

    /// No sign-in begins if its tokens cannot be kept, by any method.
    @Test(.timeLimit(.minutes(1)), arguments: [[], ["--manual"], ["--device-code"]])
    func endsAtOnceWhereFilesCannotBeWritten(_ way: [String]) async throws {
        let file = "\(setup.directory.path)/file"
        try Data().write(to: URL(fileURLWithPath: file))
        let refused = try await Tool.run(["login", "--json", "--cache", "file:\(file)/tokens"] + way, variables)
        #expect(refused.status == 4, "\(refused.errors)")
        #expect(try TroubleProcessTests.code(of: refused) == "cache.permissions")
        #expect(refused.errors.contains(file))
        #expect(setup.provider.requests.isEmpty)
    }

    @Test(.timeLimit(.minutes(1))) func remembersWhatWasChosenOnce() async throws {
        let login = try await login("--cache", "file")
        #expect(login.status == 0, "\(login.errors)")
        #expect(try await run("cache").output == "file\n")
        let token = try await run("token")
        #expect(token.output == login.output)
        #expect(token.errors == "")
        #expect(try await run("logout").status == 0)
        let again = try await self.login("--cache", "file", printing: false)
        #expect(again.status == 0 && again.errorLines.last?.hasSuffix("run: identityctl token") == true, "\(again)")
        let elsewhere = try await run("token", "--cache", "keyring")
        #expect(elsewhere.status == 4)
        #expect(elsewhere.errors.contains("identityctl cache move --to"))
    }

    @Test(.timeLimit(.minutes(1))) func choosesWithoutSigningIn() async throws {
        #expect(try await run("cache", "move", "--to", "file").errors == "From now on tokens rest in 'file'.\n")
        let group = CacheGroup.application("test-client").name
        #expect(try await run("cache", "show", "--json").output == "{\"store\":\"file\",\"group\":\"\(group)\"}\n")
        #expect(try await login().status == 0)
        let away = try await run("cache", "move", "--to", "encrypted-file", "--json")
        #expect(try TroubleProcessTests.code(of: away) == KeyringLibrary.code)
        #expect(try await run("token").status == 0)
        #expect(try await run("cache", "move", "--to", "memory").status == 64)
    }

    /// The default of earlier versions left no marker.
    @Test(.timeLimit(.minutes(1))) func findsTheFilesOfEarlierVersions() async throws {
        let login = try await login("--cache", "file:\(setup.directory.path)/swift-identity-client")
        #expect(login.status == 0, "\(login.errors)")
        #expect(try !files().contains { $0.hasSuffix("store-marker.json") })
        #expect(try await run("token").output == login.output)
        #expect(try await run("cache").output == "file\n")
    }

    /// Encrypted files of a desktop session, used from a shell that has no session bus.
    @Test(.timeLimit(.minutes(1))) func givesUpTokensWhoseKeyringIsGone() async throws {
        #expect(try await run("cache", "move", "--to", "file").status == 0)
        let marker = try #require(try files().first { $0.hasSuffix("store-marker.json") })
        let path = "\(setup.directory.path)/\(marker)"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        try text.replacing(#""file""#, with: #""encrypted-file""#).write(
            toFile: path,
            atomically: false,
            encoding: .utf8
        )
        let group = CacheGroup.application("test-client")
        let sealed = EncryptedTokenCache(
            FileTokenCache(directory: "\(setup.directory.path)/swift-identity-client/.encrypted"),
            keyFrom: EncryptionKey.random()
        )
        let key = CacheKey(group: group, kind: .account, name: "alice")
        #expect(try await sealed.replace(nil, with: CacheRecord(bytes: Array("{}".utf8)), for: key))
        for arguments in [["token"], ["logout"], ["logout", "--all"], ["login"], ["cache", "move", "--to", "file"]] {
            let stuck = try await Tool.run(arguments, variables)
            #expect(stuck.status == 4, "\(arguments): \(stuck.errors)")
            #expect(stuck.errorLines.last?.hasSuffix("identityctl doctor") == true, "\(stuck.errors)")
            #expect(!stuck.errors.contains("--discard"), "\(stuck.errors)")
        }
        let elsewhere = try await run("login", "--cache", "file")
        #expect(elsewhere.status == 4 && elsewhere.errorLines.last?.contains("cache move --to STORE") == true)
        #expect(!elsewhere.errors.contains("--discard"))
        #expect(!elsewhere.errors.contains("DesktopTokenCache") && !elsewhere.errors.contains("move(to:"))
        #expect(setup.provider.requests.isEmpty)
        let table = try await run("doctor").output
        let row = table.split(separator: "\n").first { $0.hasPrefix("token store") }
        #expect(row == "token store     lack  encrypted-file cannot be read")
        #expect(table.contains("sign in anew: identityctl logout --discard\n"), "\(table)")

        let discarded = try await run("logout", "--discard")
        #expect(discarded.status == 0 && discarded.errors.contains("'encrypted-file'"), "\(discarded.errors)")
        #expect(try await run("cache").output == "none\n")
        let login = try await login("--cache", "file")
        #expect(login.status == 0, "\(login.errors)")
        #expect(try await run("token").output == login.output)
    }

    @Test(.timeLimit(.minutes(1))) func givesUpTokensInFilesAsWell() async throws {
        #expect(try await login("--cache", "file").status == 0)
        #expect(try await run("logout", "--discard", "--all").status == 64)
        #expect(try await run("logout", "--discard", "--cache", "memory").status == 64)
        #expect(try await run("logout", "--discard").status == 0)
        #expect(try !files().contains { $0.hasPrefix("account") || $0.contains("/account") })
        #expect(try await run("token", "--cache", "file").status == 2)
    }
}
