// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTestSupport
import IdentityTesting
import Testing

/// Encrypted tokens on a machine without a keyring.
@Suite struct KeyFileProcessTests {
    private let setup: ToolSetup
    private let variables: [String: String]

    init() throws {
        setup = try ToolSetup()
        variables = setup.variablesWithoutKeyring(state: "\(setup.directory.path)/state")
    }

    private var key: String { "\(setup.directory.path)/keys/my key" }
    private var choice: String { "encrypted:key-file=\(key)" }

    private func run(_ arguments: String...) async throws -> Tool.Outcome {
        try await Tool.run(arguments, variables)
    }

    private func login(_ cache: String) async throws -> Tool.Outcome {
        let tool = try Tool(["login", "--cache", cache], variables)
        try await ScriptedBrowser(provider: nil).visit(try await tool.shownAddress())
        return try await tool.outcome()
    }

    private func accountFiles() throws -> [String: Data] {
        let root = "\(setup.directory.path)/state"
        let names = try FileManager.default.subpathsOfDirectory(atPath: root).filter { $0.contains("/account-") }
        return try Dictionary(
            uniqueKeysWithValues: names.map { ($0, try Data(contentsOf: URL(fileURLWithPath: "\(root)/\($0)"))) }
        )
    }

    private func tokenStoreRow() async throws -> String? {
        try await run("doctor").output.split(separator: "\n").first { $0.hasPrefix("token store") }.map(String.init)
    }

    @Test(.timeLimit(.minutes(1))) func keepsTokensEncryptedWithAKeyFile() async throws {
        let early = try await run("login", "--cache", choice)
        #expect(early.status == 4 && early.errors.contains("identityctl cache create-key"), "\(early.errors)")
        #expect(setup.provider.requests.isEmpty)

        let made = try await run("cache", "create-key", key)
        #expect(made.status == 0 && made.output == "")
        #expect(made.errors == "Made a key. To use it: identityctl login --cache '\(choice)'\n")
        #expect(try permissions(key) == 0o600)
        #expect(try await run("cache", "create-key", key).status != 0)

        let login = try await login(choice)
        #expect(login.status == 0, "\(login.errors)")
        let token = try await run("token")
        #expect(token.output == login.output && token.errors == "")
        #expect(try await run("cache").output == "\(choice)\n")
        #expect(try await tokenStoreRow() == "token store     ok    \(choice): its key can be read")
        let files = try accountFiles()
        #expect(files.count == 1 && files.keys.allSatisfy { $0.contains("/.encrypted-") })
        let elsewhere = try await run("token", "--cache", "file")
        #expect(elsewhere.status == 4 && elsewhere.errors.contains("cache move --to"), "\(elsewhere.errors)")

        #expect(try await run("cache", "create-key", "\(key) 2").status == 0)
        #expect(try await run("cache", "move", "--to", "\(choice) 2").status == 0)
        try FileManager.default.removeItem(atPath: key)
        #expect(try await run("token").output == login.output)
    }

    @Test(.timeLimit(.minutes(1))) func losesNothingWithALostKey() async throws {
        #expect(try await run("cache", "create-key", key).status == 0)
        let login = try await login(choice)
        #expect(login.status == 0, "\(login.errors)")
        let before = try accountFiles()
        try FileManager.default.moveItem(atPath: key, toPath: key + ".away")
        for isWrong in [false, true] {
            if isWrong { #expect(try await run("cache", "create-key", key).status == 0) }
            for arguments in [["token"], ["login"], ["logout"], ["logout", "--all"], ["accounts"]] {
                let stuck = try await Tool.run(arguments + ["--log-level", "error"], variables)
                #expect(stuck.status == 4, "\(arguments): \(stuck.errors)")
                #expect(stuck.errors.contains(key), "\(arguments): \(stuck.errors)")
                #expect(stuck.errorLines.last?.hasSuffix("identityctl doctor") == true, "\(stuck.errors)")
                #expect(!stuck.errors.contains("--discard"), "\(stuck.errors)")
            }
            #expect(try await tokenStoreRow() == "token store     lack  \(choice) cannot be read")
            #expect(try await run("doctor").output.contains("sign in anew: identityctl logout --discard\n"))
        }
        #expect(try accountFiles() == before)
        try FileManager.default.removeItem(atPath: key)
        try FileManager.default.moveItem(atPath: key + ".away", toPath: key)
        #expect(try await run("token").output == login.output)

        try FileManager.default.removeItem(atPath: key)
        #expect(try await run("logout", "--discard").status == 0)
        #expect(try accountFiles().isEmpty)
        #expect(try await run("cache").output == "none\n")
    }

    @Test(.timeLimit(.minutes(1))) func takesTheKeyFromACredential() async throws {
        var inUnit = variables
        inUnit["CREDENTIALS_DIRECTORY"] = "\(setup.directory.path)/keys"
        #expect(try await run("cache", "create-key", "\(setup.directory.path)/keys/token-key").status == 0)
        let cache = "encrypted:credential=token-key"
        let tool = try Tool(["login", "--cache", cache], inUnit)
        try await ScriptedBrowser(provider: nil).visit(try await tool.shownAddress())
        let login = try await tool.outcome()
        #expect(login.status == 0, "\(login.errors)")
        #expect(try await Tool.run(["token"], inUnit).output == login.output)
        let outside = try await run("token")
        #expect(outside.status == 4 && outside.errors.contains("LoadCredentialEncrypted="), "\(outside.errors)")
    }

    @Test(.timeLimit(.minutes(1))) func examinesTheKeyBeforeTheFirstSignIn() async throws {
        #expect(try await run("cache", "create-key", key).status == 0)
        for client in ["test-client", ""] {
            var variables = variables
            variables["IDENTITYCTL_CLIENT_ID"] = client
            let arguments = ["doctor", "--without-browser", "--cache", choice]
            let found = try await Tool.run(arguments, variables)
            #expect(found.status == 0, "\(found.output)")
            #expect(found.output.contains("\(choice): its key can be read"))
            try CallFailed.check(unsafe chmod(key, 0o644), "chmod")
            let lack = try await Tool.run(arguments, variables)
            #expect(lack.status == 4 && lack.output.contains("chmod 600"), "\(lack.output)")
            try CallFailed.check(unsafe chmod(key, 0o600), "chmod")
        }
    }

    @Test(.timeLimit(.minutes(5))) func asksForThePassPhraseAtTheTerminalOnly() async throws {
        let terminal = try PseudoTerminal()
        let made = try Tool(["cache", "create-key", "--pass-phrase", key], variables, controlledBy: terminal.terminal)
        try await answer("New pass phrase", "correct horse", terminal, made)
        try await answer("The same again", "correct horse", terminal, made)
        let making = try await made.outcome()
        #expect(making.status == 0, "\(making.errors)")

        let mistaken = try Tool(["login", "--cache", choice], variables, controlledBy: terminal.terminal)
        try await answer("Pass phrase of key-file=\(key)", "wrong", terminal, mistaken)
        let mistake = try await mistaken.outcome()
        #expect(mistake.status == 4 && mistake.errors.contains("Try again"), "\(mistake.errors)")
        #expect(!mistake.errors.contains("create-key"), "\(mistake.errors)")

        let tool = try Tool(["login", "--cache", choice], variables, controlledBy: terminal.terminal)
        try await answer("Pass phrase of key-file=\(key)", "correct horse", terminal, tool)
        try await ScriptedBrowser(provider: nil).visit(try await tool.shownAddress())
        let login = try await tool.outcome()
        #expect(login.status == 0, "\(login.errors)")

        for (text, status) in [("wrong", 4), ("correct horse", 0)] as [(String, Int32)] {
            let tool = try Tool(["token"], variables, controlledBy: terminal.terminal)
            try await answer("Pass phrase", text, terminal, tool)
            let token = try await tool.outcome()
            #expect(token.status == status, "\(token.errors)")
            #expect(token.output == (status == 0 ? login.output : ""))
        }
        let unasked = try await Tool(shell: "exec setsid -w \(try Tool.executable.path) token", variables).outcome()
        #expect(unasked.status == 4 && unasked.errors.contains("there is no terminal"), "\(unasked.errors)")
        #expect(
            try await tokenStoreRow()
                == "token store     ok    \(choice): its key needs a pass phrase, which is not asked for here"
        )
    }

    @Test(.timeLimit(.minutes(5))) func givesThePassPhraseToAnAgentWithoutATerminal() async throws {
        let terminal = try PseudoTerminal()
        let made = try Tool(["cache", "create-key", "--pass-phrase", key], variables, controlledBy: terminal.terminal)
        for question in ["New pass phrase", "The same again"] { try await answer(question, "correct", terminal, made) }
        #expect(try await made.outcome().status == 0)
        let tool = try Tool(["login", "--cache", choice], variables, controlledBy: terminal.terminal)
        try await answer("Pass phrase", "correct", terminal, tool)
        try await ScriptedBrowser(provider: nil).visit(try await tool.shownAddress())
        let token = try await tool.outcome().output

        let path = "\(setup.directory.path)/run/agent.sock"
        let agent = try Tool(
            shell: "exec setsid -w '\(try Tool.executable.path)' agent --socket '\(path)'",
            variables
        )
        _ = try await agent.errorLine { $0.hasPrefix("The agent listens.") }
        let client = ["IDENTITYCTL_AGENT": path]
        for isLocked in [false, true] {
            if isLocked { #expect(try await Tool.run(["agent", "lock"], client).status == 0) }
            let early = try await Tool.run(["token"], client)
            #expect(early.status == 4 && early.errors.contains("identityctl agent unlock"), "\(early.errors)")
            for (text, status) in [("wrong", 4), ("correct", 0)] as [(String, Int32)] {
                let unlock = try Tool(["agent", "unlock"], client, controlledBy: terminal.terminal)
                try await answer("Pass phrase of key-file=\(key)", text, terminal, unlock)
                let outcome = try await unlock.outcome()
                #expect(
                    outcome.status == status && outcome.errors.contains("does not open") == (status != 0),
                    "\(outcome.errors)"
                )
                let found = try await Tool.run(["token"], client)
                #expect(found.status == status && found.output == (status == 0 ? token : ""), "\(found.errors)")
            }
            // Nothing more is asked for.
            #expect(try await Tool.run(["agent", "unlock"], client).status == 0)
        }
        #expect(try await Tool.run(["agent", "stop"], client).status == 0)
        #expect(try await agent.outcome().status == 0)
    }

    @Test(.timeLimit(.minutes(1))) func leavesTheTerminalUsualAfterCtrlC() async throws {
        let terminal = try PseudoTerminal()
        let tool = try Tool(["cache", "create-key", "--pass-phrase", key], variables, controlledBy: terminal.terminal)
        _ = try await tool.poll("the question") { terminal.shown().contains("New pass phrase") ? true : nil }
        #expect(!terminal.isUsual)
        try terminal.type("\u{03}")
        let outcome = try await tool.outcome()
        #expect(outcome.status == 6, "\(outcome.errors)")
        let words = outcome.errors.split(whereSeparator: \.isWhitespace)
        #expect(words.contains("icanon") && words.contains("echo"), "\(outcome.errors)")
        #expect(!FileManager.default.fileExists(atPath: key))
    }

    @Test(.timeLimit(.minutes(1))) func stopsWithAUsualTerminalAtEachQuestion() async throws {
        let terminal = try PseudoTerminal()
        let tool = try Tool(["cache", "create-key", "--pass-phrase", key], variables, controlledBy: terminal.terminal)
        for question in ["New pass phrase", "The same again"] {
            _ = try await tool.poll("the question") { terminal.shown().contains(question) ? true : nil }
            try terminal.type("\u{1A}")
            try await tool.poll("a usual terminal") { terminal.isUsual ? () : nil }
            try CallFailed.check(kill(-tcgetpgrp(terminal.keyboard.fileDescriptor), SIGCONT), "kill")
            try await tool.poll("a quiet terminal") { terminal.isUsual ? nil : () }
            try terminal.type("correct horse\n")
        }
        let outcome = try await tool.outcome()
        #expect(outcome.status == 0, "\(outcome.errors)")
    }

    /// Waits for a question, and types the answer, which must not be shown.
    private func answer(
        _ question: String,
        _ text: String,
        _ terminal: PseudoTerminal,
        _ tool: Tool
    ) async throws {
        _ = try await tool.poll("the question '\(question)'") { terminal.shown().contains(question) ? true : nil }
        try terminal.keyboard.write(contentsOf: Data("\(text)\n".utf8))
    }
}
