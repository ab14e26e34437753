// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityClient
import OAuthWire
import SystemSupport

/// The way in which an AI program starts a server, and a try of it.
struct MCPHostStart: Sendable {
    /// The program's patience.
    var seconds = 30
    /// The revision that the program asks for.
    var revision = "2025-06-18"
    /// The names of the variables that the program passes on; `nil` for all.
    var variables: [String]?

    /// Starts an entry as the program will.
    ///
    /// - Parameters:
    ///   - words: The command.
    ///   - more: Variables that the entry sets.
    /// - Returns: The names of the tools that the program gets.
    /// - Throws: `SystemFailure` with what the program would say; `CommandFailure`, `CancellationError`.
    func tools(
        of words: [String],
        in home: Home,
        setting more: [(name: String, value: String)]
    ) async throws -> [String] {
        let names = more.map(\.name)
        let passed = CText.environment.filter { variable in
            let name = String(variable.text.prefix { $0 != "=" })
            return !names.contains(name) && variables?.contains(name) != false
        }
        let messages = [
            #"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"\#(revision)","capabilities":{},"#
                + #""clientInfo":{"name":"identityctl","version":"1"}}}"#,
            #"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            #"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#,
        ]
        let outcome = try await Program(words.map { CText($0) }, in: CText(home.searched.joined(separator: ":"))).run(
            passed + more.map { CText("\($0.name)=\($0.value)") },
            within: .seconds(seconds),
            reading: Array(messages.map { $0 + "\n" }.joined().utf8)
        ) { output in
            Self.answer(2, in: output) != nil || Self.answer(1, in: output)?.object("error") != nil
        }
        guard let tools = Self.answer(2, in: outcome.output)?.object("result")?.array("tools") else {
            let answers = [1, 2].compactMap { Self.answer($0, in: outcome.output)?.object("error")?.string("message") }
            throw SystemFailure((answers.first ?? outcome.firstError ?? "It gave no answer.").printable)
        }
        return tools.compactMap { if case .object(let tool) = $0 { tool.string("name") } else { nil } }
    }

    private static func answer(_ id: Int, in output: [UInt8]) -> JSONObject? {
        output.split(separator: 0x0A).lazy.compactMap { try? JSONObject(parsing: Array($0), maximumDepth: 64) }
            .first { $0.integer("id") == id && $0["method"] == nil }
    }
}

extension MCPServerEntry {
    private var command: MCPCommand { get throws { try MCPCommand.parse(Array(arguments.dropFirst())) } }

    /// Whether a token for the server can be had without a person.
    func isSignedIn(_ session: Session) async throws -> Bool { try await command.isSignedIn(session) }

    /// The account whose tokens the server gets.
    func chosenAccount(_ session: Session) async throws -> Account { try await command.chosenAccount(session) }
}
