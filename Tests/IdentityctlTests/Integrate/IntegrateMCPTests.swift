// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import SystemSupport
import Testing

@testable import identityctl

/// Programs that speak MCP: each gets an entry that starts `identityctl mcp`, in the form of its documentation.
@Suite struct IntegrateMCPTests {
    private static let address = "https://mcp.example.test/mcp"

    /// A program, its file, an example of the program's documentation, and the entry, in which `PROGRAM` is the tool's file.
    struct Case: Sendable, CustomTestStringConvertible {
        let tool: String
        let file: String
        let before: String
        let entry: String
        var testDescription: String { tool }
    }

    static let cases = [
        // code.claude.com/docs/en/mcp
        Case(
            tool: "claude-code",
            file: ".claude.json",
            before: #"{"numStartups": 3, "mcpServers": {"docs": {"type": "http", "url": "https://a.test/mcp"}}}"#,
            entry:
                #""mcp-example-test": {"type":"stdio","command":"PROGRAM","args":["mcp","https://mcp.example.test/mcp"]}"#
        ),
        // code.visualstudio.com/docs/agents/reference/mcp-configuration
        Case(
            tool: "vscode",
            file: ".config/Code/User/mcp.json",
            before:
                "{\n\t\"servers\": {\n\t\t// My own.\n\t\t\"memory\": {\"command\": \"npx\", \"args\": [\"x\"]},\n\t},\n\t\"inputs\": []\n}\n",
            entry:
                #""mcp-example-test": {"type":"stdio","command":"PROGRAM","args":["mcp","https://mcp.example.test/mcp"]}"#
        ),
        // cursor.com/docs/context/mcp
        Case(
            tool: "cursor",
            file: ".cursor/mcp.json",
            before: "{\n  \"mcpServers\": {}\n}\n",
            entry:
                #""mcp-example-test": {"type":"stdio","command":"PROGRAM","args":["mcp","https://mcp.example.test/mcp"]}"#
        ),
        // geminicli.com/docs/tools/mcp-server
        Case(
            tool: "gemini",
            file: ".gemini/settings.json",
            before: "{\n  \"theme\": \"Default\"\n}",
            entry: #""mcp-example-test": {"command":"PROGRAM","args":["mcp","https://mcp.example.test/mcp"]}"#
        ),
        // opencode.ai/docs/mcp-servers
        Case(
            tool: "opencode",
            file: ".config/opencode/opencode.json",
            before:
                #"{"$schema": "https://opencode.ai/config.json", "mcp": {"a": {"type": "local", "command": ["bun", "x"]}}}"#,
            entry: #""mcp-example-test": {"type":"local","command":["PROGRAM","mcp","https://mcp.example.test/mcp"]}"#
        ),
        // A server of version 1 that has the name of version 2's member.
        Case(
            tool: "opencode",
            file: ".config/opencode/opencode.json",
            before: #"{"mcp": {"servers": {"type": "local", "command": ["bun", "x"]}}}"#,
            entry:
                #"{"mcp": {"mcp-example-test": {"type":"local","command":["PROGRAM","mcp","https://mcp.example.test/mcp"]}"#
        ),
        // opencode.ai/v2/docs/mcp-servers
        Case(
            tool: "opencode",
            file: ".config/opencode/opencode.jsonc",
            before: #"{"mcp": {"servers": {"a": {"type": "local", "command": ["npx", "-y", "x"]}}}}"#,
            entry:
                #"servers": {"mcp-example-test": {"type":"local","command":["PROGRAM","mcp","https://mcp.example.test/mcp"]}"#
        ),
        // developers.openai.com/codex/mcp
        Case(
            tool: "codex",
            file: ".codex/config.toml",
            before: "model = \"m\"\n\n[mcp_servers.docs]\ncommand = \"npx\"\nargs = [\"-y\", \"docs\"]\n",
            entry:
                #"mcp_servers.mcp-example-test = { command = "PROGRAM", args = ["mcp", "https://mcp.example.test/mcp"], env_vars = ["DISPLAY", "#
        ),
    ]

    @Test(.timeLimit(.minutes(1)), arguments: cases)
    func addsOneEntryAndRemovesIt(_ example: Case) async throws {
        let person = try await Person()
        try person.write(example.before, to: example.file, mode: 0o640)
        let set = try await person.integrate(example.tool, "--resource", Self.address)
        #expect(set.status == 0, "\(set)")
        let parts = example.entry.split(separator: "PROGRAM").map(String.init)
        let entry = parts.joined(separator: try Person.program)
        let text = try #require(person.text(example.file))
        #expect(text.contains(entry), "\(text)")
        #expect(try person.mode(of: example.file) == 0o640)
        let again = try await person.integrate(example.tool, "--resource", Self.address)
        #expect(again.errorLines.first == "Nothing to change: \(example.tool) is set up.", "\(again)")

        let taken = try await person.integrate(
            example.tool,
            "--resource",
            "https://mcp.example.test/other",
            "--name",
            "mcp-example-test"
        )
        #expect(taken.status == 64 && person.text(example.file) == text, "\(taken)")
        let second = try await person.integrate(example.tool, "--resource", "https://b.test", "--name", "b_2")
        #expect(second.status == 0 && second.errors.contains("--name b_2 --undo"), "\(second)")
        let undone = try await person.integrate(example.tool, "--resource", "https://b.test", "--name", "b_2", "--undo")
        #expect(undone.status == 0 && person.text(example.file) == text, "\(undone)")
        #expect(try await person.integrate(example.tool, "--undo").status == 0)
        #expect(person.text(example.file) == example.before)
    }

    /// Claude Code keeps its history in its file. A tool that is built for debugging takes seconds for it.
    @Test(.timeLimit(.minutes(2))) func takesALargeFile() async throws {
        let person = try await Person()
        let before = #"{"history": ["\#(String(repeating: "x", count: 9 << 20))"], "mcpServers": {}}"#
        try person.write(before, to: ".claude.json")
        #expect(try await person.integrate("claude-code", "--resource", Self.address).status == 0)
        #expect(try await person.integrate("claude-code", "--undo").status == 0)
        #expect(person.text(".claude.json") == before)
    }

    /// Programs put variables and files in the place of `${X}`, `$X`, `{env:X}` and `{file:X}`.
    @Test(.timeLimit(.minutes(1)), arguments: ["${HOME}", "$HOME", "{env:HOME}", "{file:~/.ssh/id}"])
    func writesNoAddressThatAProgramFills(part: String) async throws {
        let person = try await Person()
        let set = try await person.integrate("gemini", "--resource", "\(Self.address)/\(part)")
        #expect(set.status == 64 && set.errors.contains("braces and '$' are not possible"), "\(set)")
        #expect(person.text(".gemini/settings.json") == nil)
    }

    @Test(.timeLimit(.minutes(1))) func saysThatAnAddressMayBeOfTheOlderTransport() async throws {
        let person = try await Person()
        let set = try await person.integrate("codex", "--resource", "https://mcp.example.test/sse")
        #expect(set.status == 0 && set.errors.contains("/sse is often an address of the older transport"), "\(set)")
    }

    @Test(.timeLimit(.minutes(1)), arguments: ["claude-code", "codex", "opencode"])
    func leavesNoFileWhereThereWasNone(tool: String) async throws {
        let person = try await Person()
        let file = try #require(Self.cases.first { $0.tool == tool }).file
        #expect(try await person.integrate(tool, "--resource", Self.address, "--dry-run").status == 0)
        #expect(person.text(file) == nil)
        #expect(try await person.integrate(tool, "--resource", Self.address).status == 0)
        #expect(try person.mode(of: file) == 0o600)
        #expect(try await person.integrate(tool, "--undo").status == 0)
        #expect(person.text(file) == nil)
    }

    @Test(.timeLimit(.minutes(1)), arguments: [("cursor", "{"), ("cursor", #"{"mcpServers": []}"#)])
    func showsTheEntryForAFileThatItCannotKeep(_ tool: String, _ before: String) async throws {
        let person = try await Person()
        try person.write(before, to: ".cursor/mcp.json")
        let refused = try await person.integrate(tool, "--resource", Self.address)
        #expect(
            refused.status == 64 && refused.errors.contains(#""args":["mcp","https://mcp.example.test/mcp"]"#),
            "\(refused)"
        )
        #expect(person.text(".cursor/mcp.json") == before)
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            ["claude-code"], ["claude-code", "--resource", "http://mcp.example.test"],
            ["claude-code", "--resource", "https://a.test/${HOME}"], ["codex", "--resource", "https://a.test/{x}"],
            ["claude-code", "--resource", "https://a.test", "--name", "a b"], ["claude-code", "--profile", "work"],
            ["claude-code", "--resource", "https://a.test", "--serves", "https://a.test"],
            ["claude-code", "--undo", "--name", "a"], ["git", "--resource", "https://a.test"],
        ]
    )
    func refusesWhatNamesNoServer(arguments: [String]) async throws {
        let person = try await Person()
        let refused = try await person.run(["integrate"] + arguments)
        #expect(refused.status == 64, "\(refused)")
        #expect(person.text(".claude.json") == nil)
    }

    @Test(.timeLimit(.minutes(1))) func tellsTheDoctorOfEachServer() async throws {
        let person = try await Person()
        try await person.addProfile("api", serves: [], "resource = https://api.test/mcp")
        #expect(try await person.integrate("gemini", "--profile", "api").status == 0)
        #expect(
            person.text(".gemini/settings.json")?.contains(#"["mcp","--profile","api","https://api.test/mcp"]"#) == true
        )
        #expect(try await person.integrate("claude-code", "--resource", Self.address).status == 0)
        let doctor = try await person.run(["doctor", "--without-browser"])
        #expect(doctor.output.contains("identityctl login --profile api"), "\(doctor)")
        #expect(doctor.output.contains("identityctl login --resource \(Self.address)"), "\(doctor)")
        _ = try await person.login("api")
        let works = try await person.run(["doctor", "--without-browser"])
        #expect(works.output.contains("gemini          ok    api-test (api, "), "\(works)")
    }

    /// A program starts the bridge with few variables, or with others than the shell in which the person signed in.
    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            ("claude-code", #""env":{"IDENTITYCTL_CACHE":"file:PLACE/c","XDG_STATE_HOME":"PLACE/s"}}"#),
            ("opencode", #""environment":{"IDENTITYCTL_CACHE":"file:PLACE/c","XDG_STATE_HOME":"PLACE/s"}}"#),
            (
                "codex",
                #", startup_timeout_sec = 75, env = { IDENTITYCTL_CACHE = "file:PLACE/c", XDG_STATE_HOME = "PLACE/s" } }"#
            ),
        ]
    )
    func writesWhereTheSignInsAre(tool: String, entry: String) async throws {
        var person = try await Person()
        let secret = ["https_proxy": "http://u:p@proxy.test", "IDENTITYCTL_CA_FILE": "/ca.pem", "DISPLAY": ":42"]
        person.variables.merge(secret) { $1 }
        person.variables["IDENTITYCTL_CACHE"] = "file:\(person.home)/c"
        person.variables["XDG_STATE_HOME"] = "\(person.home)/s"
        #expect(try await person.integrate(tool, "--resource", Self.address).status == 0)
        let file = try #require(Self.cases.first { $0.tool == tool }).file
        let text = try #require(person.text(file))
        #expect(text.contains(entry.replacing("PLACE", with: person.home)), "\(text)")
        for value in secret.values { #expect(!text.contains(value), "\(text)") }
        // Codex passes these on by their names.
        for name in ["DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "SSH_CONNECTION", "IDENTITYCTL_AGENT", "https_proxy"] {
            #expect(text.contains("\"\(name)\"") == (tool == "codex"), "\(text)")
        }
        #expect(try await person.integrate(tool, "--resource", Self.address, "--undo").status == 0)
        #expect(person.text(file) == nil)
    }

    @Test(.timeLimit(.minutes(1))) func replacesItsOwnOlderLine() async throws {
        let person = try await Person()
        let marks = ("# Lines of 'identityctl integrate codex'; --undo removes them.", "# End of identityctl's lines.")
        let older =
            #"mcp_servers.mcp-example-test = { command = "identityctl", args = ["mcp", "https://mcp.example.test/mcp"] }"#
        let before = "\(marks.0)\n\(older)\n\(marks.1)\nmodel = \"m\"\n"
        try person.write(before, to: ".codex/config.toml")
        #expect(try await person.integrate("codex", "--resource", Self.address).status == 0)
        let text = try #require(person.text(".codex/config.toml"))
        #expect(text.contains("startup_timeout_sec") && !text.contains(older), "\(text)")
        try person.write(before, to: ".codex/config.toml")
        #expect(try await person.integrate("codex", "--resource", Self.address, "--undo").status == 0)
        #expect(person.text(".codex/config.toml") == "model = \"m\"\n")
    }

    /// A profile carries the proxy and the certificate authority, which the entry itself may not name.
    @Test(.timeLimit(.minutes(1))) func namesTheProfileThatCarriesTheRest() async throws {
        let person = try await Person()
        let address = "https://api.test/mcp"
        let made = try await person.run([
            "profile", "add", "corp", "--resource", address, "--proxy", "http://proxy.test:3128",
        ])
        #expect(made.status == 0, "\(made)")
        #expect(try await person.integrate("claude-code", "--profile", "corp").status == 0)
        let text = try #require(person.text(".claude.json"))
        #expect(text.contains(#""args":["mcp","--profile","corp","\#(address)"]"#), "\(text)")
        #expect(!text.contains("proxy"), "\(text)")
    }

    /// `codex mcp add notes -- identityctl mcp URL` writes a table.
    @Test(.timeLimit(.minutes(1))) func seesATableOfThePersons() async throws {
        let person = try await Person()
        let table =
            "model = \"m\"\n\n[mcp_servers.notes]\ncommand = \"identityctl\"\nargs = [\"mcp\", \"\(Self.address)\"]\n\n"
            + "[mcp_servers.mine]\ncommand = \"npx\"\nargs = [\"mcp\", \"x\"]\n"
        try person.write(table, to: ".codex/config.toml")
        let doctor = try await person.run(["doctor", "--without-browser"])
        #expect(doctor.output.contains("notes (no token)") && !doctor.output.contains("mine"), "\(doctor)")
        let undone = try await person.integrate("codex", "--undo")
        #expect(undone.errors.contains("The entry 'notes' in"), "\(undone)")
        #expect(person.text(".codex/config.toml") == table)
    }

    /// `claude mcp add notes -- identityctl mcp URL` writes an entry for one project, and a team keeps its entries in `.mcp.json`.
    @Test(.timeLimit(.minutes(1))) func seesTheEntriesOfProjects() async throws {
        let person = try await Person()
        let entry = #"{"type":"stdio","command":"identityctl","args":["mcp","\#(Self.address)"],"env":{}}"#
        let other = #"{"command":"npx","args":["x"]}"#
        let project = #"{"/srv/p": {"mcpServers": {"notes": \#(entry), "mine": \#(other)}, "a": 1}, "/srv/q": {}}"#
        try person.write(#"{"projects": \#(project), "mcpServers": {"all": \#(entry)}}"#, to: ".claude.json")
        let teams = #"{"mcpServers": {"team": \#(entry)}}"#
        try person.write(teams, to: "proj/.mcp.json")
        try person.write(#"{"servers": {"team": \#(entry)}}"#, to: "proj/.vscode/mcp.json")
        let tool = try Person.program
        func inProject(_ line: String) async throws -> Tool.Outcome {
            try await person.shell("cd \(person.home)/proj && \(tool) \(line)")
        }
        let doctor = try await inProject("doctor --without-browser").output
        for name in ["all (no token)", "notes in /srv/p (no token)", "team in \(person.home)/proj (no token)"] {
            #expect(doctor.contains(name), "\(doctor)")
        }
        #expect(doctor.contains("vscode"))
        // The file that a team shares stays.
        let undone = try await inProject("integrate claude-code --undo")
        #expect(undone.status == 0 && undone.errors.contains("'team' in ./.mcp.json"), "\(undone)")
        let kept = #"{"/srv/p": {"mcpServers": {"mine": \#(other)}, "a": 1}, "/srv/q": {}}"#
        #expect(person.text(".claude.json") == #"{"projects": \#(kept)}"#)
        #expect(person.text("proj/.mcp.json") == teams)
        #expect(try await inProject("integrate claude-code --undo").errors.contains("Nothing to change"))
    }
}
