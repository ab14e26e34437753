// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTesting
import OAuthWire
import Testing

@testable import identityctl

/// A person with a home directory, a profile, and `~/.local/bin` in `PATH`.
struct Person {
    let setup: ToolSetup
    var variables: [String: String]

    /// - Parameter serves: The addresses that the profile `work` serves.
    init(serves: String...) async throws {
        setup = try ToolSetup()
        let home = setup.directory.path
        variables = [
            "HOME": home, "PATH": "\(home)/.local/bin:\(home)/tools:/usr/bin:/bin", "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "true", "IDENTITYCTL_BROWSER": BrowserStandIn.name, "IDENTITYCTL_PRINT_TOKEN": "1",
            "DBUS_SESSION_BUS_ADDRESS": "disabled:", "GIT_CONFIG_NOSYSTEM": "1",
        ]
        try await addProfile("work", serves: serves)
    }

    /// The home directory.
    var home: String { setup.directory.path }

    /// The file of the tool.
    static var program: String {
        get throws { try Tool.executable.resolvingSymlinksInPath().path }
    }

    /// Writes a profile as `profile add` does.
    ///
    /// - Parameter more: More lines.
    func addProfile(_ name: String, serves: [String], _ more: String...) async throws {
        let lines = [
            "client-id = test-client", "issuer = \(setup.issuer)", "scope = files.read",
            "cache = file:\(setup.directory.path)/cache",
        ]
        let text = (lines + more + serves.map { "serves = \($0)" }).map { "\($0)\n" }.joined()
        let name = try ProfileName(Given(text: name, origin: "a test"))
        try ProfileDirectory(Variables(variables)).write(text, as: name, replaces: false)
    }

    func run(_ arguments: [String]) async throws -> Tool.Outcome {
        try await Tool.run(arguments, variables)
    }

    func integrate(_ arguments: String...) async throws -> Tool.Outcome {
        try await run(["integrate"] + arguments)
    }

    /// Signs a person in with a profile, in this process.
    ///
    /// - Returns: The access token.
    @discardableResult
    func login(_ profile: String = "work", as account: TestIdentityProvider.Person = .alice) async throws -> String {
        try await setup.signIn(as: account, variables, profile: profile)
    }

    /// Runs a line of a shell, with `input` to read.
    func shell(_ line: String, _ input: String = "") async throws -> Tool.Outcome {
        let tool = try Tool(shell: line, variables)
        if !input.isEmpty { try tool.type(input) }
        try tool.closeInput()
        return try await tool.outcome()
    }

    /// Returns the doctor's finding on a check; `nil` if there is none.
    func finding(_ check: String, _ arguments: String...) async throws -> JSONObject? {
        let outcome = try await run(["doctor", "--json", "--without-browser"] + arguments)
        let rows = try JSONObject(parsing: Array(outcome.output.utf8)).array("checks") ?? []
        for case .object(let row) in rows where row.string("check") == check { return row }
        return nil
    }

    /// Runs the command that a finding names. In a browser that it opens, alice signs in.
    ///
    /// - Returns: Its lines for the person.
    @discardableResult
    func mend(_ finding: JSONObject?) async throws -> [String] {
        let advice = try #require(finding?.string("advice"), "\(finding?.line ?? "no finding")")
        let pattern = /(?:run|Run|with|none): ((?:identityctl|chmod|rm) .+?)(?:$|\. | \()/
        let command = try #require(advice.firstMatch(of: pattern)?.1, "no command in: \(advice)")
        guard command.hasPrefix("identityctl ") else {
            return try await shell(String(command)).errorLines
        }
        let tool = try Tool(advised: command, variables)
        if command.hasPrefix("identityctl login") {
            try await ScriptedBrowser(provider: nil).visit(try await tool.shownAddress())
        }
        let outcome = try await tool.outcome()
        #expect(outcome.status == 0, "\(command): \(outcome)")
        return outcome.errorLines
    }

    private func url(_ path: String) -> URL { setup.directory.appendingPathComponent(path) }

    /// The text of a file below the home directory; `nil` if there is none.
    func text(_ path: String) -> String? {
        FileManager.default.contents(atPath: url(path).path).map { String(decoding: $0, as: UTF8.self) }
    }

    func write(_ text: String, to path: String, mode: Int = 0o600) throws {
        let manager = FileManager.default
        try manager.createDirectory(at: url(path).deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url(path))
        try manager.setAttributes([.posixPermissions: mode], ofItemAtPath: url(path).path)
    }

    func mode(of path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: url(path).path)[.posixPermissions] as? Int
    }

    func makeLink(_ path: String, to target: String) throws {
        let manager = FileManager.default
        try manager.createDirectory(at: url(path).deletingLastPathComponent(), withIntermediateDirectories: true)
        try manager.createSymbolicLink(atPath: url(path).path, withDestinationPath: target)
    }

    /// The file that a link leads to; `nil` if there is no link.
    func target(of path: String) -> String? {
        try? FileManager.default.destinationOfSymbolicLink(atPath: url(path).path)
    }

    func remove(_ path: String) throws {
        try FileManager.default.removeItem(at: url(path))
    }

    /// Installs a program that is a script of the shell.
    func install(_ name: String, _ script: String) throws {
        try write("#!/bin/sh\n\(script)\n", to: "tools/\(name)", mode: 0o755)
    }
}
