// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityTestSupport
import Testing

/// The tool with rights that its caller lacks: it must not trust the caller's environment.
@Suite struct SetgidProcessTests {
    private let directory: URL
    private let tool: String

    init() throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("setgid-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
        tool = directory.appendingPathComponent("identityctl").path
        // Another process writes the copy: a child that a test starts meanwhile would inherit the open file from this one,
        // and a program that is open for writing cannot be run.
        _ = try Shell.run("cp '\(try Tool.executable.path)' '\(tool)'")
    }

    /// Runs the copy, with the rights of another group or as usual.
    private func run(_ arguments: [String], isSetgid: Bool, _ variables: [String: String]) throws -> String {
        if isSetgid {
            try #require(unsafe chown(tool, 0, 65534) == 0)
            try #require(unsafe chmod(tool, 0o2755) == 0)
        }
        let process = Process()
        let errors = try PrivatePipe()
        process.executableURL = URL(fileURLWithPath: tool)
        process.arguments = arguments + ["--json"]
        process.environment = variables
        process.standardError = errors.writing
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        try errors.writing.close()
        defer { process.waitUntilExit() }
        return String(decoding: try errors.reading.readToEnd() ?? Data(), as: UTF8.self)
    }

    private static let isRoot = geteuid() == 0

    @Test(.timeLimit(.minutes(1)), .enabled(if: isRoot, "Only root can give a program away."))
    func readsNoVariableThere() throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let variables = ["IDENTITYCTL_CLIENT_ID": "c", "IDENTITYCTL_CACHE": "memory"]
        let arguments = ["token", "--issuer", "https://0.0.0.0:1"]
        #expect(try run(arguments, isSetgid: false, variables).contains("interaction_required.no_tokens"))
        #expect(try run(arguments, isSetgid: true, variables).contains("--client-id"))
    }

    @Test(.timeLimit(.minutes(1)), .enabled(if: isRoot, "Only root can give a program away."))
    func startsNoCommandOfTheCaller() throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let arguments = [
            "exec", "--client-id", "c", "--cache", "memory", "--issuer", "https://0.0.0.0:1", "--", "true",
        ]
        #expect(try run(arguments, isSetgid: false, [:]).contains("interaction_required.no_tokens"))
        #expect(try run(arguments, isSetgid: true, [:]).contains("starts no command"))
    }

    /// No other computer is involved: no server listens at either port.
    @Test(.timeLimit(.minutes(1)), .enabled(if: isRoot, "Only root can give a program away."))
    func usesNoProxyOfTheCaller() throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let arguments = ["login", "--client-id", "c", "--cache", "memory", "--issuer", "https://0.0.0.0:1"]
        let variables = ["https_proxy": "http://127.0.0.1:1"]
        #expect(try run(arguments, isSetgid: false, variables).contains("network.proxy"))
        #expect(try !run(arguments, isSetgid: true, variables).contains("network.proxy"))
    }

    /// libcurl would write the keys of each connection into a file that the caller names.
    @Test(.timeLimit(.minutes(1)), .enabled(if: isRoot, "Only root can give a program away."))
    func writesNoKeysOfItsConnectionsThere() throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let log = directory.appendingPathComponent("keys").path
        let arguments = ["login", "--client-id", "c", "--cache", "memory", "--issuer", "https://0.0.0.0:1"]
        _ = try run(arguments, isSetgid: false, ["SSLKEYLOGFILE": log])
        #expect(FileManager.default.fileExists(atPath: log), "libcurl opens the file before its first connection.")
        try FileManager.default.removeItem(atPath: log)
        _ = try run(arguments, isSetgid: true, ["SSLKEYLOGFILE": log])
        #expect(!FileManager.default.fileExists(atPath: log))
    }
}
