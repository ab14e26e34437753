// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityClient
import IdentityTesting
import OAuthWire
import Testing

/// From sign-in to sign-out, as a script sees it.
@Suite struct SessionProcessTests {
    @Test(.timeLimit(.minutes(1))) func signsInOnceAndHandsOutTheTokenUntilItIsSignedOut() async throws {
        let setup = try ToolSetup()
        let login = try await setup.login()
        #expect(login.status == 0, "\(login.errors)")
        let token = try #require(login.output.split(separator: "\n").first.map(String.init))
        #expect(login.output == token + "\n")
        #expect(setup.provider.accepts(accessToken: token))
        #expect(login.errorLines.last == "Signed in as alice@example.test.")
        #expect(!login.errors.contains(token))

        setup.provider.forgetRequests()
        let again = try await setup.run("token")
        #expect(again.status == 0)
        #expect(again.output == token + "\n")
        #expect(again.errors.isEmpty)
        #expect(setup.provider.requests.isEmpty)

        let accounts = try await setup.run("accounts")
        #expect(accounts.output == "alice@example.test\t\(setup.issuer)|subject-alice\t\(setup.host)\n")

        let logout = try await setup.run("logout")
        #expect(logout.status == 0)
        #expect(logout.output.isEmpty)
        #expect(logout.errors == "Signed out alice@example.test.\n")
        let after = try await setup.run("token")
        #expect(after.status == 2)
        #expect(after.output.isEmpty)
        #expect(after.errors.contains("identityctl login"))
        #expect(try await setup.run("logout").status == 0)
    }

    /// A script that asks for Carol never continues with Alice's token.
    @Test(.timeLimit(.minutes(1)), arguments: [[], ["--if-needed"]])
    func handsOutNoTokenOfSomebodyElse(_ options: [String]) async throws {
        let setup = try ToolSetup()
        let tool = try Tool(["login", "--account", "carol@example.test"] + options, setup.variables)
        try await ScriptedBrowser(provider: nil).visit(try await tool.shownAddress())
        let refused = try await tool.outcome()
        #expect(refused.status == 2 && refused.output.isEmpty, "\(refused.errors)")
        #expect(refused.errors.contains("alice@example.test"))
        #expect(refused.errors.contains("carol@example.test"))
        #expect(refused.errors.contains("--prompt select_account"))
        #expect(try await setup.run("token", "--account", "alice@example.test").status == 0)
    }

    @Test(.timeLimit(.minutes(1))) func writesJSONAsDocumented() async throws {
        let setup = try ToolSetup()
        let login = try await setup.login("--json", "--response-mode", "form_post")
        #expect(login.status == 0, "\(login.errors)")
        let result = try JSONObject(parsing: Array(login.output.utf8))
        #expect(
            result.members.map(\.name) == [
                "accessToken", "tokenType", "expiresOn", "scopes", "account", "source", "persisted", "correlationID",
            ]
        )
        #expect(result.string("source") == "identityProvider")
        #expect(result.bool("persisted") == true)
        #expect(result.object("account")?.string("username") == "alice@example.test")
        #expect(result.string("expiresOn")?.hasSuffix("Z") == true)

        let cached = try JSONObject(parsing: Array(try await setup.run("token", "--json").output.utf8))
        #expect(cached.string("accessToken") == result.string("accessToken"))
        #expect(cached.string("source") == "cache")
        #expect(cached["correlationID"] == .null)
        let refreshed = try await setup.run("token", "--json", "--force-refresh")
        #expect(try JSONObject(parsing: Array(refreshed.output.utf8)).string("source") == "identityProvider")
        let accounts = try await setup.run("accounts", "--json")
        #expect(accounts.output.hasPrefix(#"[{"id":""#) && accounts.output.hasSuffix("}]\n"))

        setup.provider.revokeSessions(of: .alice)
        let lost = try await setup.run("token", "--json", "--force-refresh")
        #expect(lost.status == 2)
        #expect(lost.output.isEmpty)
        let error = try #require(try JSONObject(parsing: Array((lost.errorLines.last ?? "").utf8)).object("error"))
        #expect(error.members.map(\.name) == ["code", "message", "serverError", "correlationID", "timestamp"])
        #expect(error.string("code") == "interaction_required.sign_in_expired")
        #expect(error.object("serverError")?.string("error") == "invalid_grant")
    }

    @Test(.timeLimit(.minutes(1))) func saysThatMemoryDoesNotOutliveTheCommand() async throws {
        let setup = try ToolSetup()
        let login = try await setup.login("--json", "--cache", "memory")
        #expect(login.status == 0, "\(login.errors)")
        #expect(try JSONObject(parsing: Array(login.output.utf8)).bool("persisted") == false)
        #expect(try await setup.run("token", "--cache", "memory").status == 2)
        #expect(!FileManager.default.fileExists(atPath: setup.directory.appendingPathComponent("cache").path))
    }

    /// The token would stay on the screen or in the log of a job.
    @Test(.timeLimit(.minutes(1)), arguments: [true, false])
    func printsNoTokenUnlessItIsAskedFor(isTerminal: Bool) async throws {
        let setup = try ToolSetup()
        let variables = setup.variables.filter { $0.key != "IDENTITYCTL_PRINT_TOKEN" }
        func login(_ arguments: String...) async throws -> (shown: String, errors: String) {
            let terminal = try PseudoTerminal()
            let tool = try Tool(["login"] + arguments, variables, outputPath: isTerminal ? terminal.path : nil)
            try await ScriptedBrowser(provider: nil).visit(try await tool.shownAddress())
            let outcome = try await tool.outcome()
            #expect(outcome.status == 0, "\(outcome.errors)")
            return (isTerminal ? terminal.shown() : outcome.output, outcome.errors)
        }
        let plain = try await login("--scope", "files.read")
        #expect(plain.shown.isEmpty, "\(plain.shown)")
        let advice = "To print the access token, run: identityctl token --scope files.read\n"
        #expect(plain.errors.hasSuffix(advice), "\(plain.errors)")
        let again = try await Tool.run(["login", "--if-needed"], variables)
        #expect(again.status == 0 && again.output.isEmpty && again.errors.isEmpty)
        let token = try await login("--print-token").shown.trimmingCharacters(in: .newlines)
        #expect(setup.provider.accepts(accessToken: token))
        #expect(try await login("--json").shown.contains(#""accessToken":""#))
    }

    /// The sign-in is refused if its token would not be shown.
    @Test(.timeLimit(.minutes(1))) func refusesASignInOfWhichNothingWouldBeLeft() async throws {
        let setup = try ToolSetup()
        let variables = setup.variables.filter { $0.key != "IDENTITYCTL_PRINT_TOKEN" }
        let refused = try await Tool.run(["login", "--cache", "memory"], variables)
        #expect(refused.status == 64 && refused.errors.contains("--print-token"), "\(refused.errors)")
        #expect(setup.provider.requests.isEmpty)
    }

    @Test(.timeLimit(.minutes(1))) func choosesBetweenSeveralAccounts() async throws {
        let setup = try ToolSetup()
        try await setup.signIn()
        let bob = try await setup.login(as: .bob)
        #expect(bob.status == 0)
        #expect(try await setup.run("token").output == bob.output)
        #expect(try await setup.run("token", "--account", "BOB@example.test").output == bob.output)
        #expect(try await setup.run("token", "--account", "\(setup.issuer)|subject-bob").output == bob.output)
        #expect(try await setup.run("token", "--account", "carol").status == 2)
        let undecided = try await setup.run("logout", "--json")
        #expect(undecided.status == 9 && undecided.errors.contains("account_not_chosen"))
        for text in ["--account", "alice@example.test", "bob@example.test"] { #expect(undecided.errors.contains(text)) }
        let unknown = try await setup.run("logout", "--account", "carol", "--json")
        #expect(unknown.status == 0 && unknown.output == "[]\n" && unknown.errors.contains("nothing was changed"))
        #expect(try await setup.run("accounts").output.split(separator: "\n").count == 2)
        #expect(try await setup.run("logout", "--all").status == 0)
        #expect(try await setup.run("accounts", "--json").output == "[]\n")
    }

    @Test(.timeLimit(.minutes(1))) func takesTheDefaultAccountOfSeveral() async throws {
        let setup = try ToolSetup()
        let carol = TestIdentityProvider.Person(
            username: "carol@example.test",
            password: "tr0ub4dor",
            name: "Carol Example",
            subject: "subject-carol",
            objectID: "cccccccc-0000-4000-8000-000000000003"
        )
        setup.provider.add(carol)
        let alice = try await setup.signIn()
        try await setup.signIn(as: .bob)
        try await setup.signIn(as: carol)
        let chosen = try await setup.run("accounts", "--default", "alice@example.test")
        #expect(chosen.status == 0 && chosen.output.isEmpty && chosen.errors.hasSuffix("is the default account.\n"))
        #expect(try await setup.run("token").output == alice + "\n")
        #expect(try await setup.run("call", setup.issuer + "/userinfo").output.contains("subject-alice"))
        let lines = try await setup.run("accounts").output.split(separator: "\n")
        #expect(lines.filter { $0.hasSuffix("\tdefault") }.map { $0.hasPrefix("alice") } == [true])
        #expect(try await setup.run("accounts", "--default", "nobody").status == 2)

        #expect(try await setup.run("logout", "--account", "alice@example.test").status == 0)
        let undecided = try await setup.run("token")
        #expect(undecided.status == 9 && undecided.output.isEmpty, "\(undecided.errors)")
        #expect(try await setup.run("token", "--account", "bob@example.test").status == 0)
    }

    @Test(.timeLimit(.minutes(1))) func neverWritesASecretToStandardErrorWhateverIsLogged() async throws {
        let setup = try ToolSetup()
        let login = try await setup.login("--log-level", "trace")
        let refresh = try await setup.run("token", "--force-refresh", "--log-level", "trace")
        #expect(login.status == 0 && refresh.status == 0)
        #expect(refresh.errors.contains("["))
        let names = ["code", "code_verifier", "refresh_token"]
        let sent = setup.provider.requests.filter { $0.endpoint == .token }.flatMap { request in
            names.compactMap { request[$0] }
        }
        #expect(sent.count == 3)
        let tokens = [login.output, refresh.output].map { String($0.dropLast()) }
        for secret in sent + tokens {
            #expect(!secret.isEmpty && !login.errors.contains(secret) && !refresh.errors.contains(secret))
        }
    }
}

extension ToolSetup {
    /// Host and port of the provider.
    var host: String { String(issuer.dropFirst("http://".count)) }
}
