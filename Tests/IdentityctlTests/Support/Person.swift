// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTesting
import Testing

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

    func addProfile(_ name: String, serves: [String], _ more: String...) async throws {
        let options = [
            "--client-id", "test-client", "--issuer", setup.issuer, "--scope", "files.read",
            "--cache", "file:\(setup.directory.path)/cache",
        ]
        let made = try await run(["profile", "add", name] + options + more + serves.flatMap { ["--serves", $0] })
        #expect(made.status == 0, "\(made)")
    }

    func run(_ arguments: [String]) async throws -> Tool.Outcome {
        try await Tool.run(arguments, variables)
    }

    func integrate(_ arguments: String...) async throws -> Tool.Outcome {
        try await run(["integrate"] + arguments)
    }

    /// Returns the token of a sign-in.
    func login(_ profile: String = "work", as account: TestIdentityProvider.Person = .alice) async throws -> Substring {
        // A sign-in that hands out a token is for the profile's own account alone.
        let quiet = variables.merging(["IDENTITYCTL_PRINT_TOKEN": "0"]) { $1 }
        let tool = try Tool(["login", "--profile", profile], quiet)
        try await ScriptedBrowser(provider: nil, signingInAs: account, behaviour: .approve)
            .visit(try await tool.shownAddress())
        #expect(try await tool.outcome().status == 0)
        return try await run(["token", "--profile", profile, "--account", account.username]).output.dropLast()
    }

    /// Runs a line of a shell, with `input` to read.
    func shell(_ line: String, _ input: String = "") async throws -> Tool.Outcome {
        let tool = try Tool(shell: line, variables)
        if !input.isEmpty { try tool.type(input) }
        try tool.closeInput()
        return try await tool.outcome()
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
