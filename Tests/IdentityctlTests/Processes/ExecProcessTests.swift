// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTesting
import Testing

/// Commands that get a token in their environment.
@Suite(.timeLimit(.minutes(1))) struct ExecProcessTests {
    /// The variables of a caller, without the stand-in browser, which differs from call to call.
    private func variables(_ setup: ToolSetup) throws -> [String: String] {
        var variables = setup.variables
        variables["IDENTITYCTL_BROWSER"] = nil
        variables["TOOL"] = try Tool.executable.path
        return variables
    }

    /// Runs a line of a shell to its end.
    private func run(_ line: String, _ variables: [String: String], typing text: String? = nil) async throws
        -> Tool.Outcome
    {
        let tool = try Tool(shell: line, variables)
        if let text { try tool.type(text) }
        try tool.closeInput()
        return try await tool.outcome()
    }

    @Test func theCommandTakesThePlaceOfTheTool() async throws {
        let setup = try ToolSetup()
        let token = try await setup.signIn() + "\n"
        let command = #"echo $$; echo "$BEARER_TOKEN"; cat; echo "$0 $1"; exit 7"#
        let outcome = try await run(
            "echo $$; exec \"$TOOL\" exec -- sh -c '\(command)' --json 'a b'",
            try variables(setup),
            typing: "typed"
        )
        let lines = outcome.output.split(separator: "\n").map(String.init)
        #expect(outcome.status == 7 && outcome.errors.isEmpty, "\(outcome.errors)")
        #expect(lines.count == 5 && lines[0] == lines[1], "\(lines)")
        #expect(lines.dropFirst(2) == [String(token.dropLast()), "typed", "--json a b"])
        #expect(setup.provider.count(of: .token) == 1)
    }

    /// Each command that hands a token on, where the sign-in did not ask for a claim that its reader wants.
    @Test(
        arguments: [
            ["token"], ["exec", "--", "true"], ["exec", "--token-file", "--", "true"], ["call", "/userinfo"],
        ]
    )
    func everyCommandSaysWhichClaimsASignInDidNotBring(_ command: [String]) async throws {
        let setup = try ToolSetup()
        let arguments = command.map { $0.hasPrefix("/") ? setup.issuer + $0 : $0 }
        var variables = setup.variables
        for (asked, isMissing) in [("files.read", true), ("files.read email", false)] {
            variables["IDENTITYCTL_SCOPE"] = asked
            let login = try Tool(["login"], variables)
            try await ScriptedBrowser(provider: nil, behaviour: .approve).visit(try await login.shownAddress())
            #expect(try await login.outcome().status == 0)
            variables["IDENTITYCTL_SCOPE"] = "files.read email"
            let outcome = try await Tool.run(arguments, variables)
            #expect(outcome.status == 0, "\(outcome)")
            let warnings = outcome.errorLines.filter { $0.hasPrefix("Warning: the sign-in did not bring email.") }
            #expect(warnings.count == (isMissing ? 1 : 0), "\(outcome)")
        }
    }

    @Test func theCommandGetsTheCallersVariablesWithoutTheSecret() async throws {
        let setup = try ToolSetup()
        let token = try await setup.signIn()
        var variables = try variables(setup)
        variables["IDENTITYCTL_CLIENT_SECRET"] = "hidden"
        variables["FIRST"] = "earlier"
        variables["IDENTITYCTL_CLIENT_SECRETS"] = "another variable"
        let direct = try await run("exec env -0", variables)
        let outcome = try await run("exec \"$TOOL\" exec --env FIRST --env _2 -- env -0", variables)
        #expect(outcome.status == 0, "\(outcome.errors)")
        var expected = Set(direct.output.split(separator: "\0"))
        #expect(expected.remove("IDENTITYCTL_CLIENT_SECRET=hidden") != nil)
        #expect(expected.remove("FIRST=earlier") != nil)
        let given = outcome.output.split(separator: "\0")
        #expect(given.count == expected.count + 2)
        #expect(Set(given) == expected.union(["FIRST=\(token)", "_2=\(token)"]))
    }

    @Test(arguments: ["", "--token-file "])
    func theCommandGetsTheCallersSignalsAndDescriptors(option: String) async throws {
        let setup = try ToolSetup()
        try await setup.signIn()
        let variables = try variables(setup)
        // The last eight digits are those of the signals that a program can change.
        let show = "sh -c 'grep -E \"^Sig(Blk|Ign)\" /proc/self/status | grep -o ........\\$; ls /proc/self/fd; echo .'"
        let line = "trap '' INT USR1; exec 7</dev/null; \(show); \"$TOOL\" exec \(option)-- \(show)"
        let outcome = try await run(line, variables)
        let shown = outcome.output.split(separator: ".\n").map(String.init)
        #expect(shown.count == 2 && shown.first == shown.last, "\(outcome)")
        #expect(shown.first?.contains("\n7\n") == true && shown.first?.contains("202\n") == true, "\(outcome)")
        // A signal ends the command, and is what the caller sees.
        let ended = try await run("\"$TOOL\" exec \(option)-- sh -c 'kill -TERM $$; echo survived'; echo $?", variables)
        #expect(ended.output == "143\n", "\(ended)")
    }

    @Test func aCommandThatCannotRunCostsNoToken() async throws {
        let setup = try ToolSetup()
        try await setup.signIn()
        let variables = try variables(setup)
        let directory = setup.directory.path
        try Data("text".utf8).write(to: URL(fileURLWithPath: "\(directory)/text"))
        let cases: [(String, Int32, String)] = [
            ("-- no-such-command", 127, "There is no command 'no-such-command' in the directories of PATH."),
            ("-- ./no/such", 127, "There is no command './no/such'."), ("-- ''", 127, "The command is empty."),
            ("-- '\(directory)/text'", 126, "is not an executable file"), ("-- /tmp", 126, "is not an executable file"),
            ("", 64, "identityctl exec -- COMMAND"), ("--", 64, "identityctl exec -- COMMAND"), ("true", 64, "true"),
            ("--env 'A=B' -- true", 64, "--env"), ("--env 1A -- true", 64, "--env"), ("--env é -- true", 64, "--env"),
        ]
        for (arguments, status, message) in cases {
            let outcome = try await run("exec \"$TOOL\" exec --force-refresh \(arguments)", variables)
            #expect(outcome.status == status && outcome.output.isEmpty, "\(arguments): \(outcome)")
            #expect(outcome.errors.contains(message), "\(arguments): \(outcome.errors)")
        }
        #expect(setup.provider.count(of: .token) == 1)
    }

    @Test func reportsAProgramThatTheSystemDoesNotStart() async throws {
        let setup = try ToolSetup()
        try await setup.signIn()
        let cases: [(String, Int32, String)] = [
            ("#!/no/such/interpreter\n", 127, "the interpreter that its first line names is missing"),
            ("no program", 126, "it is no program"),
        ]
        for (text, status, message) in cases {
            let path = "\(setup.directory.path)/program"
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
            let outcome = try await Tool.run(["exec", "--", path], setup.variables)
            #expect(outcome.status == status && outcome.errors.contains(message), "\(outcome)")
        }
    }

    @Test func doesNotStartTheCommandWithoutAToken() async throws {
        let setup = try ToolSetup()
        let path = "\(setup.directory.path)/started"
        let nobody = try await Tool.run(["exec", "--", "touch", path], setup.variables)
        #expect(nobody.status == 2 && nobody.errors.contains("identityctl login"), "\(nobody)")
        try await setup.signIn()
        setup.provider.close()
        let silent = try await Tool.run(["exec", "--force-refresh", "--", "touch", path], setup.variables)
        #expect(silent.status == 3, "\(silent)")
        #expect(!FileManager.default.fileExists(atPath: path))
        #expect(try await Tool.run(["exec", "--", "touch", path], setup.variables).status == 0)
        #expect(FileManager.default.fileExists(atPath: path))
    }

    @Test func asksTheAgentIfThereIsOne() async throws {
        let setup = try ToolSetup()
        let token = try await setup.signIn()
        let path = "\(setup.directory.path)/run/agent.sock"
        let agent = try Tool(["agent", "--socket", path], setup.variables)
        _ = try await agent.errorLine { $0.hasPrefix("The agent listens.") }
        let arguments = ["exec", "--env", "A", "--", "sh", "-c", "echo $A"]
        let outcome = try await Tool.run(arguments, ["IDENTITYCTL_AGENT": path])
        #expect(outcome.status == 0 && outcome.output == token + "\n", "\(outcome)")
        agent.interrupt()
    }
}
