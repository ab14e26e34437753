// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

@testable import identityctl

/// The promise of `--json`, tried with each command and each of its switches, as the program describes itself: standard output is
/// JSON, or the last line of standard error is the error as JSON.
@Suite(.timeLimit(.minutes(2))) struct JSONProcessTests {
    /// Standard output is that of a program, an API or an AI program's server; agent and forwarder run until they are stopped.
    private static let others = ["exec", "call", "mcp", "agent run", "forward run", "forward connect"]
    /// Runs that wait for a person.
    private static let waiting = ["login --device-code"]

    /// A command, the words after its name that it cannot do without, and further words, each for a run of its own.
    private struct Described {
        let words: [String]
        let required: [String]
        let optional: [[String]]
        let switches: [String]

        var name: String { words.joined(separator: " ") }
    }

    /// - Parameter values: The words for arguments without an option's name, by their names.
    private func commands(_ node: JSONObject, below words: [String], _ values: [String: String]) throws -> [Described] {
        let nodes = node.objects("subcommands").filter { $0.bool("shouldDisplay") == true }
        let commands = try nodes.flatMap {
            try self.commands($0, below: words + [$0.string("commandName") ?? ""], values)
        }
        let arguments = node.objects("arguments")
        guard nodes.isEmpty, arguments.contains(where: { $0.name == "json" }) else { return commands }
        var (required, optional) = ([String](), [[String]]())
        for argument in arguments where argument.string("kind") == "positional" {
            let name = argument.string("valueName") ?? ""
            let value = try #require(values[name], "no word for '\(name)' of \(words)")
            if argument.bool("isOptional") == true { optional.append([value]) } else { required.append(value) }
        }
        let switches = arguments.filter { $0.string("kind") == "flag" }.map(\.name)
        return commands + [Described(words: words, required: required, optional: optional, switches: switches)]
    }

    private func isJSON(_ text: some StringProtocol) -> Bool {
        (try? JSONSerialization.jsonObject(with: Data(text.utf8))) != nil
    }

    /// Lines that a person writes into a tool's file are a value, beside what a person reads.
    @Test(arguments: ["msmtp", "mutt", "neomutt", "mbsync", "aerc", "rclone", "google"])
    func showsTheLinesForAToolAsAValue(_ tool: String) async throws {
        let person = try await Person()
        let shown = try await person.run(["integrate", tool, "--profile", "work"])
        let report = try JSONObject(
            parsing: Array(try await person.run(["integrate", tool, "--profile", "work", "--json"]).output.utf8)
        )
        let lines = try #require(report.strings("lines"))
        #expect(!lines.isEmpty && report.strings("advice")?.count == 1 && report.strings("changes") == [])
        #expect(lines.contains { $0.contains(" --profile work") })
        for line in lines { #expect(shown.errorLines.contains(line), "\(line)") }
    }

    @Test func everyCommandAnswersInJSON() async throws {
        var person = try await Person()
        person.setup.provider.settings.rotatesRefreshTokens = false
        let (home, issuer) = (person.home, person.setup.issuer)
        try person.remove(".config")
        try await person.addProfile("work", serves: ["https://git.example.test"])
        let profile = ".config/identityctl/profiles/work.conf"
        // In the default place, so that a copy of the home directory has the tokens.
        try person.write(
            try #require(person.text(profile)).replacing("cache = file:\(home)/cache", with: "cache = file"),
            to: profile
        )
        try person.write(ImportProcessTests.content, to: "msal.json")
        let login = try Tool(["login"], person.variables)
        try await ScriptedBrowser(provider: nil).visit(try await login.shownAddress())
        #expect(try await login.outcome().status == 0)
        for name in ["IDENTITYCTL_BROWSER", "IDENTITYCTL_PRINT_TOKEN"] { person.variables[name] = nil }
        person.variables["EDITOR"] = "true"

        let words = [
            "url": "\(issuer)/userinfo", "name": "work", "name=value": "prompt=login", "option": "scope",
            "path": "\(home)/key", "socket": "\(home)/socket", "host": "a",
            "tool": "git", "scheme": "org.example.test", "command": "true", "where": "gitlab",
        ]
        let cloud = "https://login.microsoftonline.com/organizations"
        let taken = ["--from", "msal:~/msal.json", "--client-id", "client", "--cache", "file", "--authority", cloud]
        // In place of what a command cannot do without.
        let usual = [
            "profile add": ["new", "--issuer", issuer, "--client-id", "a"], "cache move": ["--to", "file"],
            "registration document": ["https://id.example.com/client.json"],
            "import": taken,
        ]
        let described = try JSONObject(parsing: Array(try await person.run(["--experimental-dump-help"]).output.utf8))
        let commands = try self.commands(try #require(described.object("command")), below: [], words)
        let uses = commands.flatMap(\.switches).reduce(into: [String: Int]()) { $0[$1, default: 0] += 1 }
        var runs = [
            ["token", "--output", "\(home)/token"], ["call", "\(issuer)/userinfo", "--output", "\(home)/answer"],
            ["accounts", "--default", "alice@example.test"], ["integrate", "msmtp", "--profile", "work"],
            ["integrate", "msmtp", "--profile", "work", "--undo"],
        ]
        for command in commands where !Self.others.contains(command.name) {
            let base = command.words + (usual[command.name] ?? command.required)
            runs += [base] + command.optional.map { base + $0 }
            // Options of many commands have one meaning.
            let switches = command.switches.filter { uses[$0, default: 0] < 6 && $0 != "version" }
            runs += switches.filter { !Self.waiting.contains("\(command.name) --\($0)") }.map { base + ["--\($0)"] }
        }
        var done: Set<String> = []
        for (number, run) in runs.enumerated() {
            let copy = "\(home)-\(number)"
            defer { try? FileManager.default.removeItem(atPath: copy) }
            _ = try Shell.run("cp -a '\(home)' '\(copy)'")
            person.variables["HOME"] = copy
            let outcome = try await person.run(run + ["--json"])
            let lines = outcome.output.split(separator: "\n")
            let hasResult = isJSON(outcome.output) || !lines.isEmpty && lines.allSatisfy { isJSON($0) }
            #expect(lines.isEmpty || hasResult, "\(run): \(outcome.output)")
            #expect(hasResult || outcome.status != 0 && isJSON(outcome.errorLines.last ?? ""), "\(run): \(outcome)")
            if outcome.status == 0 { done.insert(run.joined(separator: " ")) }
        }
        // Not all are errors.
        let expected = [
            "token", "token --output \(home)/token", "call \(issuer)/userinfo --output \(home)/answer",
            "import \(taken.joined(separator: " "))", "logout --discard", "logout --everywhere",
            "profile show work --path", "profile edit work",
            "register-scheme org.example.test", "register-scheme org.example.test --remove", "integrate git",
            "integrate msmtp --profile work", "integrate msmtp --profile work --undo",
        ]
        for run in expected { #expect(done.contains(run), "\(run)") }
    }
}

extension JSONObject {
    fileprivate var name: String { object("preferredName")?.string("name") ?? "" }

    fileprivate func objects(_ name: String) -> [JSONObject] {
        (array(name) ?? []).compactMap { if case .object(let object) = $0 { object } else { nil } }
    }
}
