// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTesting
import Testing

/// Where the scripts that start keyrings are, as `Scripts/test-keyring` tells; without it there are no keyring tests.
let keyringSupport = ProcessInfo.processInfo.environment["IDENTITY_KEYRING_TESTS"]

/// A provider, a directory for the tokens, and GNOME Keyring on a bus of its own.
final class KeyringStage: Sendable {
    let place: Surroundings
    let variables: [String: String]
    private let session: String

    init() async throws {
        place = try Surroundings()
        session = place.directory.path + "/session"
        _ = try await Self.run("session", "start", session, "unlocked")
        let told = try String(contentsOfFile: session + "/env", encoding: .utf8)
        let address = try #require(told.split(separator: "\n").first { $0.hasPrefix("BUS=") }).dropFirst(4)
        var variables = place.variables
        variables["IDENTITYCTL_CACHE"] = nil
        variables["XDG_STATE_HOME"] = place.directory.path
        variables["DBUS_SESSION_BUS_ADDRESS"] = String(address)
        self.variables = variables
    }

    deinit {
        let (script, session) = ((keyringSupport ?? "") + "/session", session)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: script)
        process.arguments = ["stop", session]
        // A keyring that is left running ends with the machine; nothing else can be done here.
        if (try? process.run()) != nil { process.waitUntilExit() }
    }

    /// Runs the tool with this keyring.
    func run(_ arguments: String...) async throws -> Tool.Outcome {
        try await Tool.run(arguments, variables)
    }

    /// Signs somebody in.
    func login(_ arguments: String...) async throws -> Tool.Outcome {
        let tool = try Tool(["login"] + arguments, variables)
        try await ScriptedBrowser(provider: nil).visit(try await tool.shownAddress())
        return try await tool.outcome()
    }

    func lock() async throws {
        _ = try await command(
            "gdbus call --session -d org.freedesktop.secrets -o /org/freedesktop/secrets "
                + "-m org.freedesktop.Secret.Service.Lock '[\"/org/freedesktop/secrets/collection/login\"]'"
        )
    }

    /// Opens the keyring in place, as the person's password does.
    func unlock() async throws {
        _ = try await command("'\(keyringSupport ?? "")/unlock' throw-away")
    }

    /// What a command prints that runs with this keyring.
    func command(_ text: String) async throws -> String {
        try await Self.run("/bin/sh", "-c", text, bus: variables["DBUS_SESSION_BUS_ADDRESS"])
    }

    private static func run(_ program: String, _ arguments: String..., bus: String? = nil) async throws -> String {
        let process = Process()
        let path = program.hasPrefix("/") ? program : (keyringSupport ?? "") + "/" + program
        process.executableURL = URL(fileURLWithPath: "/usr/bin/timeout")
        process.arguments = ["40", path] + arguments
        if let bus {
            process.environment = ProcessInfo.processInfo.environment.merging(["DBUS_SESSION_BUS_ADDRESS": bus]) { $1 }
        }
        let output = Pipe()
        process.standardOutput = output
        process.standardInput = FileHandle.nullDevice
        let (ends, end) = AsyncStream<Int32>.makeStream()
        process.terminationHandler = { process in
            end.yield(process.terminationStatus)
            end.finish()
        }
        try process.run()
        let status = await ends.first { _ in true }
        #expect(status == 0, "\(program) \(arguments)")
        // What a started daemon keeps open is not waited for.
        return String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    }
}
