// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import OAuthWire
import Testing

@testable import identityctl

/// Claude Code and Codex before a model's gateway.
@Suite(.timeLimit(.minutes(1))) struct IntegrateGatewayTests {
    private static let claude = ".claude/settings.json"
    private static let codex = ".codex/config.toml"

    @Test func givesClaudeCodeTheForwarderAndUndoesThat() async throws {
        let api = try await ForwardedAPI()
        let person = api.person
        let place = try await api.place()
        let before = "{\n  // mine\n  \"model\": \"m\",\n  \"env\": {\"A\": \"b\"},\n}\n"
        try person.write(before, to: Self.claude, mode: 0o640)
        let set = try await person.integrate("claude-code", "--gateway", api.address)
        #expect(set.status == 0 && set.errors.contains("turns off Remote Control"), "\(set)")
        let text = try #require(person.text(Self.claude))
        let variables = [
            "ANTHROPIC_BASE_URL": "http://127.0.0.1:\(place.port)/v1", "ANTHROPIC_AUTH_TOKEN": place.phantom,
            "no_proxy": "127.0.0.1,::1,localhost", "NO_PROXY": "127.0.0.1,::1,localhost",
        ]
        for (name, value) in variables { #expect(text.contains("\"\(name)\": \"\(value)\""), "\(text)") }
        #expect(text.contains("// mine") && text.contains("\"A\": \"b\"") && !text.contains("apiKeyHelper"))
        #expect(try person.mode(of: Self.claude) == 0o640)
        let again = try await person.integrate("claude-code", "--gateway", api.address, "--profile", "api")
        #expect(again.errors.contains("Nothing to change"), "\(again)")
        let server = ["--resource", "https://mcp.example.test/mcp"]
        #expect(try await person.run(["integrate", "claude-code"] + server).status == 0)
        #expect(try await person.run(["integrate", "claude-code", "--undo"] + server).status == 0)
        #expect(person.text(Self.claude) == text)
        let undone = try await person.integrate("claude-code", "--undo")
        #expect(undone.status == 0 && person.text(Self.claude) == before, "\(undone)")
    }

    @Test func givesCodexTheForwarderAndUndoesThat() async throws {
        let api = try await ForwardedAPI()
        let person = api.person
        let place = try await api.place()
        let before = "model = \"m\"\n\n[model_providers.corp]\nname = \"Corp\"\n"
        try person.write(before, to: Self.codex)
        let set = try await person.integrate("codex", "--gateway", api.address)
        #expect(set.status == 0, "\(set)")
        let lines = """
            model_provider = "identityctl"
            model_providers.identityctl = { name = "identityctl", base_url = "http://127.0.0.1:\(place.port)/v1", \
            wire_api = "responses", http_headers = { x-api-key = "\(place.phantom)" } }

            """
        #expect(person.text(Self.codex)?.contains(lines) == true, "\(person.text(Self.codex) ?? "")")
        let undone = try await person.integrate("codex", "--gateway", api.address, "--undo")
        #expect(undone.status == 0 && person.text(Self.codex) == before, "\(undone)")
        try person.write("model_provider = \"corp\"\n\(before)", to: Self.codex)
        let taken = try await person.integrate("codex", "--gateway", api.address)
        #expect(taken.status == 64 && taken.errors.contains("has the line 'model_provider = \"corp\"'"), "\(taken)")
    }

    /// The doctor names the command that puts the new phantom in its place.
    @Test(arguments: [("claude-code", claude), ("codex", codex)])
    func followsANewPhantom(_ tool: String, _ file: String) async throws {
        let api = try await ForwardedAPI()
        let person = api.person
        try await person.login("api")
        #expect(try await person.integrate(tool, "--gateway", api.address, "--profile", "api").status == 0)
        let works = try await person.finding(tool)
        #expect(works?.string("state") == "ok", "\(works?.line ?? "")")
        #expect(works?.string("found") == "\(api.address) (api, alice@example.test)", "\(works?.line ?? "")")
        #expect(try await person.run(["forward", "new-phantom", "api"]).status == 0)
        let broken = try await person.finding(tool)
        #expect(broken?.string("state") == "lack", "\(broken?.line ?? "")")
        try await person.mend(broken)
        #expect(try await person.finding(tool)?.string("state") == "ok")
        let place = try await api.place()
        let text = try #require(person.text(file))
        #expect(text.contains(place.phantom) && text.contains("127.0.0.1:\(place.port)/v1"), "\(text)")
        #expect(text.split(separator: place.phantom).count == 2)
    }

    @Test func givesTheHelperWithoutTheForwarder() async throws {
        let api = try await ForwardedAPI()
        let person = api.person
        try await person.login("api")
        let words = ["--gateway", api.address, "--helper", "--profile", "api"]
        let command = "\(try Person.program) helper api-key --gateway \(api.address) --profile api"
        for (tool, file) in [("claude-code", Self.claude), ("codex", Self.codex)] {
            let set = try await person.run(["integrate", tool] + words)
            #expect(set.status == 0, "\(set)")
            let text = try #require(person.text(file))
            #expect(text.contains(api.address) && !text.contains("fwd_"), "\(text)")
            #expect(try await person.finding(tool)?.string("state") == "ok")
            try person.write(text.replacing(try Person.program, with: "/old/identityctl"), to: file)
            let broken = try await person.finding(tool)
            #expect(broken?.string("advice")?.hasPrefix("There is no program /old/identityctl.") == true)
            try await person.mend(broken)
            #expect(person.text(file) == text)
        }
        #expect(person.text(Self.claude)?.contains("\"apiKeyHelper\": \"\(command)\"") == true)
        let arguments = command.split(separator: " ").dropFirst().map { "\"\($0)\"" }.joined(separator: ", ")
        #expect(
            person.text(Self.codex)?.contains("auth = { command = \"\(try Person.program)\", args = [\(arguments)] }")
                == true
        )
        #expect(try await person.integrate("claude-code", "--undo").status == 0)
        #expect(person.text(Self.claude) == nil)
    }

    @Test func replacesNoGatewayOfThePersons() async throws {
        let api = try await ForwardedAPI()
        let before = #"{"env": {"ANTHROPIC_BASE_URL": "https://gw.test"}}"#
        try api.person.write(before, to: Self.claude)
        let taken = try await api.person.integrate("claude-code", "--gateway", api.address)
        #expect(taken.status == 64 && taken.errors.contains("has 'ANTHROPIC_BASE_URL' already"), "\(taken)")
        #expect(try await api.person.integrate("claude-code", "--undo").status == 0)
        #expect(api.person.text(Self.claude) == before)
    }

    @Test(
        arguments: [
            (
                ["claude-code", "--gateway", "https://other.test"],
                "identityctl profile set NAME forward=https://other.test"
            ),
            (
                ["codex", "--gateway", "https://other.test", "--helper", "--profile", "api"],
                "identityctl profile set api serves+=https://other.test"
            ),
            (["cursor", "--gateway", "https://other.test"], "--gateway is for claude-code and codex"),
            (["codex", "--helper"], "--helper: give --gateway URL as well."),
            (["codex", "--gateway", "http://other.test"], "--gateway: give an https address"),
        ]
    )
    func namesWhatIsMissing(_ words: [String], _ reason: String) async throws {
        let refused = try await ForwardedAPI().person.run(["integrate"] + words)
        #expect(refused.status == 64 && refused.errors.contains(reason), "\(refused)")
    }
}
