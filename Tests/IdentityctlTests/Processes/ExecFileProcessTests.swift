// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityTestSupport
import IdentityTesting
import Testing

/// Commands that get a file in which the token is kept fresh.
@Suite(.timeLimit(.minutes(1))) struct ExecFileProcessTests {
    private let setup: ToolSetup
    private let variables: [String: String]

    init() async throws {
        setup = try ToolSetup()
        setup.provider.settings.accessTokenLifetime = .seconds(2)
        var variables = setup.variables
        variables["XDG_RUNTIME_DIR"] = setup.directory.path + "/run"
        variables["TOOL"] = try Tool.executable.path
        self.variables = variables
        let run = setup.directory.appendingPathComponent("run")
        try FileManager.default.createDirectory(at: run, withIntermediateDirectories: false)
        try await setup.signIn()
    }

    /// The names of the directories for files.
    private func names() -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: setup.directory.path + "/run")) ?? ["?"]
    }

    /// Starts a command that a shell reads.
    private func start(_ options: String..., command: String) throws -> Tool {
        try Tool(["exec", "--token-file"] + options + ["--", "sh", "-c", command], variables)
    }

    @Test func theCommandFindsAFileWithEverNewTokens() async throws {
        let command = """
            f=$BEARER_TOKEN_FILE; stat -c %a "$f" "${f%/*}"; first=$(cat "$f"); echo "$first"
            while next=$(cat "$f") && test "$next" = "$first"; do :; done; echo "$next"; exit 7
            """
        let tool = try start(command: command)
        let outcome = try await tool.outcome()
        let lines = outcome.output.split(separator: "\n")
        #expect(outcome.status == 7 && outcome.errors.isEmpty, "\(outcome)")
        #expect(lines.count == 4 && lines.prefix(2) == ["600", "700"] && lines[2] != lines[3], "\(lines)")
        #expect(lines.allSatisfy { !$0.isEmpty })
        try await tool.poll("the end of the file") { names().isEmpty ? () : nil }
    }

    @Test func theCommandTakesThePlaceOfTheToolAndHasNoChild() async throws {
        let line = """
            echo $$; exec "$TOOL" exec --token-file --env A --env B -- sh -c '
            echo $$; test "$A" = "$B" && test -n "$A" && read -r children </proc/$$/task/$$/children; echo "[$children]"'
            """
        let outcome = try await Tool(shell: line, variables).outcome()
        let lines = outcome.output.split(separator: "\n")
        #expect(outcome.status == 0 && lines.count == 3, "\(outcome)")
        #expect(lines.first == lines.dropFirst().first && lines.last == "[]", "\(lines)")
    }

    /// The companion lives until the command has ended, however that is, and no longer.
    @Test(arguments: [SIGKILL, SIGTERM, SIGINT]) func removesTheFileWhenTheCommandIsKilled(signal: Int32) async throws {
        // The shell inherits the signals that a test's thread blocks, until it has waited for a program.
        let tool = try start(command: "/bin/true; echo ready; read -r line")
        try await tool.poll("the command") { tool.text == "ready\n" ? () : nil }
        #expect(names().count == 1)
        #expect(tool.interrupt(by: signal))
        // Standard error ends with the companion.
        _ = try await tool.outcome()
        #expect(names().isEmpty)
    }

    /// A terminal, or a service manager, signals all processes.
    @Test(arguments: [SIGTERM, SIGINT, SIGHUP, SIGQUIT])
    func goesOnWhileTheCommandEndsInGoodOrder(signal: Int32) async throws {
        let command = """
            f=$BEARER_TOKEN_FILE; read -r line; first=$(cat "$f"); while test "$(cat "$f")" = "$first"; do :; done; echo renewed
            """
        let tool = try start(command: command)
        let number = try await tool.poll("the companion") { self.companion() }
        #expect(kill(number, signal) == 0)
        try tool.type("on")
        let outcome = try await tool.outcome()
        #expect(outcome.output == "renewed\n", "\(outcome)")
        #expect(names().isEmpty)
    }

    @Test func removesWhatAKilledCompanionLeftOnceItsCommandHasEnded() async throws {
        let tool = try start(command: "echo ready; read -r line; test -s \"$BEARER_TOKEN_FILE\" && echo there")
        try await tool.poll("the command") { tool.text == "ready\n" ? () : nil }
        let number = try #require(companion())
        #expect(kill(number, SIGKILL) == 0)
        let count = "ls \"${BEARER_TOKEN_FILE%/*}/..\" | wc -l"
        #expect(try await start(command: count).outcome().output == "2\n")
        try tool.type("on")
        #expect(try await tool.outcome().output == "ready\nthere\n")
        #expect(try await start(command: count).outcome().output == "1\n")
    }

    /// The process that keeps the file.
    private func companion() -> pid_t? {
        guard let name = names().first else { return nil }
        let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return numbers.compactMap { pid_t($0) }.first { number in
            let words = FileManager.default.contents(atPath: "/proc/\(number)/cmdline") ?? Data()
            return String(decoding: words, as: UTF8.self).hasSuffix("/\(name)\0--detached\0")
        }
    }

    @Test func doesNotStartTheCommandWithoutAToken() async throws {
        #expect(try await setup.run("logout").status == 0)
        let outcome = try await start("--json", command: "echo started").outcome()
        #expect(outcome.status == 2 && outcome.output.isEmpty, "\(outcome)")
        #expect(try TroubleProcessTests.code(of: outcome) == "interaction_required.no_tokens")
        #expect(names().isEmpty)
        let missing = try await Tool.run(["exec", "--token-file", "--", "no-such-command"], variables)
        #expect(missing.status == 127 && names().isEmpty, "\(missing)")
    }

    @Test func asksForASignInAndGoesOn() async throws {
        let tool = try start(command: "echo ready; read -r line; cat \"$BEARER_TOKEN_FILE\"")
        try await tool.poll("the command") { tool.text == "ready\n" ? () : nil }
        #expect(try await setup.run("logout").status == 0)
        let warning = try await tool.errorLine { $0.hasPrefix("Warning: the token in ") }
        #expect(warning.contains("To sign in, run: identityctl login"), "\(warning)")
        setup.provider.settings.accessTokenLifetime = .seconds(3600)
        let token = try await setup.signIn()
        _ = try await tool.errorLine { $0.hasSuffix(" is fresh again.") }
        try tool.type("on")
        #expect(try await tool.outcome().output == "ready\n" + token)
    }
}
