// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire
import Testing

/// A running agent, and programs that ask it.
@Suite struct AgentProcessTests {
    /// Starts an agent, with the variables of the programs that use it and have nothing else.
    private func start(_ setup: ToolSetup) async throws -> (agent: Tool, client: [String: String], path: String) {
        let path = "\(setup.directory.path)/run/agent.sock"
        let agent = try Tool(["agent", "--socket", path], setup.variables)
        _ = try await agent.errorLine { $0.hasPrefix("The agent listens.") }
        return (agent, ["IDENTITYCTL_AGENT": path], path)
    }

    @Test(.timeLimit(.minutes(1))) func givesATokenToAProgramThatHasNoProviderAndNoStore() async throws {
        let setup = try ToolSetup()
        let login = try await setup.login()
        let (agent, client, path) = try await start(setup)
        let token = try await Tool.run(["token"], client)
        #expect(token.status == 0 && token.output == login.output && token.errors.isEmpty, "\(token.errors)")
        let json = try await Tool.run(["token", "--json", "--id-token"], client)
        let report = try JSONObject(parsing: Array(json.output.utf8))
        #expect(report.string("accessToken").map { $0 + "\n" } == login.output)
        #expect(report.string("idToken") != nil && report.string("idTokenExpiresOn") != nil)
        let plain = try await PlainAgentClient.ask(path, #"{"request":"access_token","account":"default"}"#)
        #expect(plain.string("access_token").map { $0 + "\n" } == login.output)
        let renewed = try await Tool.run(["token", "--force-refresh"], client)
        #expect(renewed.status == 0 && renewed.output != login.output)
        #expect(agent.interrupt(by: 15))
        #expect(try await agent.outcome().status == 0)
        let dead = try await Tool.run(["token"], client)
        #expect(
            dead.status == 4 && dead.output.isEmpty && dead.errors.contains("No agent answers at"),
            "\(dead.errors)"
        )
    }

    @Test(.timeLimit(.minutes(1))) func locksUnlocksAndEnds() async throws {
        let setup = try ToolSetup()
        #expect(try await setup.login().status == 0)
        let (agent, client, _) = try await start(setup)
        #expect(try await Tool.run(["agent", "lock"], client).status == 0)
        #expect(try await Tool.run(["agent", "status"], client).output == "locked\ndefault\n")
        let locked = try await Tool.run(["token"], client)
        #expect(locked.status == 4 && locked.errors.contains("identityctl agent unlock"), "\(locked.errors)")
        #expect(try await Tool.run(["agent", "unlock"], client).status == 0)
        #expect(try await Tool.run(["token"], client).status == 0)
        #expect(try await Tool.run(["agent", "stop"], client).status == 0)
        #expect(try await agent.outcome().status == 0)
        #expect(try await Tool.run(["agent", "status"], client).status == 4)
    }

    @Test(.timeLimit(.minutes(1))) func tellsWhatAPersonHasToDo() async throws {
        let setup = try ToolSetup()
        let (agent, client, _) = try await start(setup)
        let nobody = try await Tool.run(["token"], client)
        #expect(nobody.status == 2, "\(nobody.errors)")
        #expect(nobody.errors.contains("To sign in, run where the agent runs: identityctl login"), "\(nobody.errors)")
        let scope = try await Tool.run(["token", "--scope", "files.write"], client)
        #expect(scope.status == 7, "\(scope.errors)")
        let option = try await Tool.run(["token", "--cache", "memory"], client)
        #expect(option.status == 64 && option.errors.contains("--cache"), "\(option.errors)")
        let second = try await Tool.run(["agent"], setup.variables.merging(["XDG_RUNTIME_DIR": "relative"]) { $1 })
        #expect(second.status == 64, "\(second.errors)")
        agent.interrupt()
    }
}
