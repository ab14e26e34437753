// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTesting
import OAuthWire
import Testing

/// `--record`: what a support case may see of an exchange.
@Suite(.timeLimit(.minutes(1)))
struct RecordProcessTests {
    /// The entries of the file, after a look for the secrets of the exchange in it.
    private func entries(_ path: String, _ setup: ToolSetup, exitStatus: Int32) throws -> [JSONObject] {
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        var secrets: Set<String> = [TestIdentityProvider.Person.alice.username]
        for request in setup.provider.requests {
            for name in ["code", "code_verifier", "refresh_token", "state", "nonce", "code_challenge"] {
                if let value = request[name] { secrets.insert(value) }
            }
        }
        #expect(secrets.count > 3)
        for secret in secrets { #expect(!text.contains(secret), "A secret is in the record.") }
        let object = try JSONObject(parsing: Array(text.utf8))
        #expect(object.string("format") == "identity-exchange-capture/1")
        #expect(object.integer("exitStatus") == Int(exitStatus))
        return (object.array("entries") ?? []).compactMap { if case .object(let entry) = $0 { entry } else { nil } }
    }

    @Test func recordsASignInAndARefresh() async throws {
        let setup = try ToolSetup()
        let path = setup.directory.appendingPathComponent("record.json").path
        let login = try await setup.login("--record", path)
        #expect(login.status == 0, "\(login.errors)")
        let token = login.output.trimmingCharacters(in: .whitespacesAndNewlines)
        #expect(token.utf8.count > 8)
        #expect(try !String(contentsOfFile: path, encoding: .utf8).contains(token))
        let kinds = try entries(path, setup, exitStatus: 0).compactMap { $0.string("kind") }
        #expect(kinds.filter { $0 != "step" } == ["request", "authorization", "redirect", "request", "request"])

        let refresh = try await setup.run("token", "--force-refresh", "--record", path)
        #expect(refresh.status == 0 && refresh.output != login.output, "\(refresh.errors)")
        let requests = try entries(path, setup, exitStatus: 0)
        #expect(requests.contains { $0.string("method") == "POST" && $0.integer("status") == 200 })
    }

    @Test func recordsASignInThatFails() async throws {
        let setup = try ToolSetup()
        let path = setup.directory.appendingPathComponent("record.json").path
        setup.provider.failNext(.token, with: .refusal("invalid_grant", description: "alice@example.test is not here"))
        let outcome = try await setup.login("--record", path)
        #expect(outcome.status == 2 && outcome.output.isEmpty, "\(outcome.errors)")
        let entries = try entries(path, setup, exitStatus: 2)
        let answer = try #require(entries.compactMap { $0.object("answer") }.first { $0["error"] != nil })
        #expect(answer.string("error") == "invalid_grant")
        #expect(answer.string("error_description") == "<error_description 1>")
        #expect(entries.last?.string("text") == "The acquisition failed: interactive.")
        #expect(entries.last?.object("error")?.string("serverError") == "invalid_grant")
    }

    @Test func refusesAFileThatCannotBeWrittenBeforeTheExchange() async throws {
        let setup = try ToolSetup()
        let outcome = try await setup.run("login", "--record", "/proc/none/record.json")
        #expect(outcome.status == 1 && outcome.errors.contains("/proc/none/record.json"), "\(outcome.errors)")
        #expect(setup.provider.requests.isEmpty)
        let empty = try await setup.run("token", "--record", "")
        #expect(empty.status == 64 && empty.errors.contains("--record"))
    }
}
