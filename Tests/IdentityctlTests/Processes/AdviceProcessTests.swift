// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTesting
import Testing

/// A suggested command can be run as it is.
@Suite struct AdviceProcessTests {
    /// Every value is given by an option, and some contain characters that a shell would interpret.
    @Test(.timeLimit(.minutes(1))) func signsInForWhatTheCommandWasAskedFor() async throws {
        let setup = try ToolSetup()
        let cache = "file:\(setup.directory.path)/it's $HOME"
        let options = [
            "--client-id", "test-client", "--issuer", setup.issuer, "--cache", cache, "--scope",
            "files.read files.write",
            "--account", "alice@example.test",
        ]
        let variables = ["IDENTITYCTL_BROWSER": BrowserStandIn.name, "IDENTITYCTL_PRINT_TOKEN": "1"]
        let refused = try await Tool.run(["token"] + options, variables)
        #expect(refused.status == 2)
        let line = try #require(refused.errorLines.last)
        let tool = try Tool(advised: line.trimmingPrefix("To sign in, run: "), variables)
        let address = try await tool.shownAddress()
        #expect(address.query?.contains("login_hint=alice") == true && address.query?.contains("files.write") == true)
        try await ScriptedBrowser(provider: nil).visit(address)
        let login = try await tool.outcome()
        #expect(login.status == 0, "\(login.errors)")
        let token = try await Tool.run(["token"] + options, variables)
        #expect(token.output == login.output, "\(token.errors)")
    }
}
