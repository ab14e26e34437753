// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityClient
import IdentityTesting
import OAuthWire
import Testing

/// `identityctl exchange`
@Suite(.timeLimit(.minutes(1)))
struct ExchangeProcessTests {
    private func sent(_ setup: ToolSetup) throws -> RecordedRequest {
        try #require(setup.provider.requests.last { $0["grant_type"]?.hasSuffix("token-exchange") == true })
    }

    @Test func exchangesTheTokenOfTheAccount() async throws {
        let setup = try ToolSetup()
        let unknown = try await setup.run("exchange", "--audience", "billing")
        #expect(unknown.status == 2 && unknown.errorLines.last == "To sign in, run: identityctl login")
        let own = try await setup.signIn()

        let record = setup.directory.appendingPathComponent("record.json").path
        let plain = try await setup.run(
            "exchange",
            "--audience",
            "billing",
            "--audience",
            "mail",
            "--requested-resource",
            "https://api.example.test",
            "--requested-scope",
            "invoices.read",
            "--record",
            record
        )
        #expect(plain.status == 0 && plain.output.hasPrefix("at-") && plain.output.hasSuffix("\n"), "\(plain.errors)")
        let request = try sent(setup)
        let token = try #require(request["subject_token"])
        #expect(token == own, "The sign-in's token is exchanged.")
        #expect(request.form.filter { $0.name == "audience" }.map(\.value) == ["billing", "mail"])
        #expect(request["resource"] == "https://api.example.test" && request["scope"] == "invoices.read")
        let recorded = try String(contentsOfFile: record, encoding: .utf8)
        #expect(recorded.contains("<subject_token 1>") && recorded.contains("https://api.example.test"))
        #expect(!recorded.contains(token) && !recorded.contains(plain.output.dropLast()))

        let json = try await setup.run(
            "exchange",
            "--subject",
            "id-token",
            "--requested-token-type",
            "id-token",
            "--audience",
            "mail",
            "--json"
        )
        let object = try JSONObject(parsing: Array(json.output.utf8))
        #expect(object.string("issuedTokenType") == "urn:ietf:params:oauth:token-type:id_token", "\(json.errors)")
        #expect(object.string("tokenType") == "N_A" && object.string("token")?.isEmpty == false)
        #expect(object.string("expiresOn") != nil && object["refreshToken"] == nil)

        setup.provider.failNext(.token, with: .refusal("invalid_target", description: "no"))
        let refused = try await setup.run("exchange", "--audience", "unknown")
        #expect(refused.status == 7 && refused.output.isEmpty)
        #expect(refused.errors.contains("audience or resource") && refused.errors.contains("invalid_target: no"))
        setup.provider.settings.exchangesTokens = false
        let old = try await setup.run("exchange", "--json")
        #expect(old.status == 1 && old.errors.contains("configuration.unsupported"), "\(old.errors)")
    }

    @Test func exchangesTokensFromFilesAndStandardInput() async throws {
        let setup = try ToolSetup()
        let token = try await setup.signIn() + "\n"
        let path = setup.directory.appendingPathComponent("token").path
        try Data("  \(token)".utf8).write(to: URL(fileURLWithPath: path))
        // Without a store: no account is needed, and the profile's account and scopes are not for such a token.
        var variables = setup.variables
        variables["IDENTITYCTL_CACHE"] = "memory"
        variables["IDENTITYCTL_AUDIENCE"] = "one two"
        let tool = try Tool(["exchange", "--subject-token-file", "-", "--actor-token-file", path], variables)
        try tool.type(token)
        try tool.closeInput()
        let outcome = try await tool.outcome()
        #expect(outcome.status == 0 && outcome.output.hasPrefix("at-"), "\(outcome.errors)")
        let request = try sent(setup)
        #expect(
            request["subject_token"] == request["actor_token"] && request["subject_token"] == String(token.dropLast())
        )
        #expect(request.form.filter { $0.name == "audience" }.map(\.value) == ["one", "two"])
        #expect(request["scope"] == nil)

        let wrong: [[String]] = [
            ["--subject-token-file", path + "x"], ["--subject-token-type", "jwt"],
            ["--subject-token-file", path, "--subject-token-type", "ticket"],
            ["--subject-token-file", path, "--scope", "a"], ["--subject-token-file", path, "--subject", "id-token"],
            ["--subject-token-file", "-", "--actor-token-file", "-"], ["--requested-resource", "api"],
            ["--audience", ""],
            ["--requested-token-type", "jwtt"], ["--subject", "refresh-token"],
        ]
        for arguments in wrong {
            let outcome = try await Tool.run(["exchange"] + arguments, variables)
            #expect(outcome.status == 64 && outcome.output.isEmpty, "\(arguments): \(outcome.errors)")
        }
        #expect(setup.provider.count(of: .token) == 2)
    }
}
