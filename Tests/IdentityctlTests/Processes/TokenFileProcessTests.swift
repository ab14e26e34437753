// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

/// A token in a file, which a service reads.
@Suite(.timeLimit(.minutes(1))) struct TokenFileProcessTests {
    private func text(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func writesTheTokenIntoAFileOfItsOwner() async throws {
        let setup = try ToolSetup()
        let token = try await setup.signIn()
        let path = setup.directory.path + "/token"
        let line = "umask 0; \"$TOOL\" token --output '\(path)'"
        let variables = setup.variables.merging(["TOOL": try Tool.executable.path]) { $1 }
        let outcome = try await Tool(shell: line, variables).outcome()
        #expect(outcome.status == 0 && outcome.output.isEmpty && outcome.errors.isEmpty, "\(outcome)")
        #expect(text(path) == token)
        #expect(try permissions(path) == 0o600)
        // AWS and others take the ID token from a file.
        let identity = try await setup.run("token", "--id-token", "--output", path, "--json")
        #expect(identity.status == 0 && identity.output.hasPrefix(#"{"done":"#), "\(identity)")
        #expect(try JSONWebToken(compact: text(path) ?? "").claims.string("sub") == "subject-alice")
    }

    @Test func leavesTheFileWithoutANewToken() async throws {
        let setup = try ToolSetup()
        let path = setup.directory.path + "/token"
        try Data("older".utf8).write(to: URL(fileURLWithPath: path))
        let absent = try await setup.run("token", "--output", path, "--watch")
        #expect(absent.status == 2 && absent.errors.contains("To sign in, run: identityctl login"), "\(absent)")
        #expect(text(path) == "older")
    }

    @Test(
        arguments: [
            (["--watch"], 64, "--watch: no file is named. Give --output FILE."),
            (["--output", "-"], 64, "--output: name a file."), (["--output", ""], 64, "--output: name a file."),
            (["--output", "/"], 64, "/ is a directory."),
            (["--output", "/dev/null"], 64, "/dev/null is no plain file."),
            (["--output", "/no/such/file"], 1, "/no/such/file could not be written: No such file or directory."),
        ] as [([String], Int32, String)]
    )
    func asksForNoTokenWithoutAPlaceForIt(_ arguments: [String], _ status: Int32, _ message: String) async throws {
        let setup = try ToolSetup()
        let outcome = try await Tool.run(["token"] + arguments, setup.variables)
        #expect(outcome.status == status && outcome.errors.contains(message), "\(outcome)")
    }

    @Test func keepsTheTokenFreshUntilASignal() async throws {
        let setup = try ToolSetup()
        setup.provider.settings.accessTokenLifetime = .seconds(2)
        try await setup.signIn()
        let path = setup.directory.path + "/token"
        let manager = try ServiceManager(setup.directory.path + "/notify")
        let variables = setup.variables.merging(["NOTIFY_SOCKET": manager.name]) { $1 }
        let watch = try Tool(["token", "--output", path, "--watch"], variables)
        let ready = try await watch.poll("READY=1") { manager.message() }
        let first = try #require(text(path))
        #expect(ready == "READY=1")
        try await watch.poll("a second token") { text(path) == first ? nil : () }
        #expect(text(path)?.isEmpty == false)
        setup.provider.settings.accessTokenLifetime = .seconds(3600)
        let second = try await Tool.run(["token", "--output", path, "--watch"], setup.variables)
        #expect(second.status == 1 && second.errors.contains("Another process keeps \(path) fresh."), "\(second)")
        #expect(watch.interrupt(by: SIGTERM))
        let outcome = try await watch.outcome()
        #expect(outcome.status == 0 && outcome.output.isEmpty && outcome.errorLines.count == 1, "\(outcome)")
        #expect(text(path) == nil && manager.message() == "STOPPING=1")
    }

    @Test func endsWhenAPersonHasToSignIn() async throws {
        let setup = try ToolSetup()
        setup.provider.settings.accessTokenLifetime = .seconds(4)
        try await setup.signIn()
        let path = setup.directory.path + "/token"
        let watch = try Tool(["token", "--output", path, "--watch"], setup.variables)
        _ = try await watch.errorLine { $0.hasPrefix("The token is in \(path)") }
        #expect(try await setup.run("logout").status == 0)
        let outcome = try await watch.outcome()
        #expect(outcome.status == 2 && outcome.errors.contains("To sign in, run: identityctl login"), "\(outcome)")
        #expect(text(path) == nil)
    }

    @Test func keepsATokenOfAnAgent() async throws {
        let setup = try ToolSetup()
        setup.provider.settings.accessTokenLifetime = .seconds(2)
        try await setup.signIn()
        let socket = setup.directory.path + "/run/agent.sock"
        let agent = try Tool(["agent", "--socket", socket], setup.variables)
        _ = try await agent.errorLine { $0.hasPrefix("The agent listens.") }
        let path = setup.directory.path + "/token"
        let watch = try Tool(["token", "--output", path, "--watch"], ["IDENTITYCTL_AGENT": socket])
        _ = try await watch.errorLine { $0.hasPrefix("The token is in \(path)") }
        let first = try #require(text(path))
        try await watch.poll("a second token") { text(path) == first ? nil : () }
        #expect(text(path)?.isEmpty == false)
        watch.interrupt()
        #expect(try await watch.outcome().status == 0)
        #expect(text(path) == nil)
        agent.interrupt()
    }
}
