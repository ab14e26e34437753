// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import identityctl

/// The try of a program's start, with a shell as the server.
@Suite(.timeLimit(.minutes(1)))
struct MCPHostStartTests {
    private func tools(_ start: MCPHostStart, _ script: String) async throws -> [String] {
        let home = try Home(Variables(["HOME": "/nonexistent"]))
        return try await start.tools(of: ["/bin/sh", "-c", script], in: home, setting: [("OWN", "own")])
    }

    private func failure(_ start: MCPHostStart, _ script: String) async -> String {
        await #expect(throws: SystemFailure.self) { _ = try await tools(start, script) }?.description ?? ""
    }

    /// The input stays open until the answers are there. A shell sets PATH by itself, and HOME it does not.
    private static let answering = """
        read -r first; read -r second; read -r third
        echo '{"id":1,"result":{}}'
        printf '{"id":2,"result":{"tools":[{"name":"%s"},{"name":"%s"}]}}\\n' "${HOME+home}" "$OWN"
        read -r rest || exit 0
        """

    @Test(arguments: [(["HOME", "PATH"], "home"), (["PATH"], ""), (nil, "home")])
    func passesTheProgramsVariables(names: [String]?, home: String) async throws {
        #expect(try await tools(MCPHostStart(variables: names), Self.answering) == [home, "own"])
    }

    @Test func saysWhatTheProgramWould() async throws {
        let start = MCPHostStart()
        #expect(
            await failure(start, #"echo '{"id":1,"error":{"code":-1,"message":"no luck"}}'; cat >/dev/null"#)
                == "no luck"
        )
        #expect(await failure(start, "echo broken >&2") == "broken")
        #expect(await failure(MCPHostStart(seconds: 1), "exec sleep 30").contains("within 1 s"))
    }
}
