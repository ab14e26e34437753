// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityTesting
import Testing

/// The directory of the scripts that start keyrings, set by `Scripts/test-keyring`. Without it, keyring tests are skipped.
let keyringSupport = ProcessInfo.processInfo.environment["IDENTITY_KEYRING_TESTS"]

/// A provider, a directory for the tokens, and GNOME Keyring on a bus of its own.
final class KeyringSetup: Sendable {
    struct Failed: Error {
        let command: String
        let output: String
    }

    let tool: ToolSetup
    let variables: [String: String]
    private let session: String

    /// - Parameter hasScreen: Whether there is a display, on which the keyring shows its dialog.
    init(hasScreen: Bool = false) throws {
        tool = try ToolSetup()
        session = tool.directory.path + "/session"
        let mode = hasScreen ? "desktop" : "unlocked"
        _ = try Self.shell("timeout 40 '\(keyringSupport ?? "")/session' start '\(session)' \(mode)")
        let told = try String(contentsOfFile: session + "/env", encoding: .utf8).split(separator: "\n")
        let address = try #require(told.first { $0.hasPrefix("BUS=") }).dropFirst(4)
        var variables = tool.variables
        variables["IDENTITYCTL_CACHE"] = nil
        variables["XDG_STATE_HOME"] = tool.directory.path
        variables["DBUS_SESSION_BUS_ADDRESS"] = String(address)
        if hasScreen { variables["DISPLAY"] = told.first { $0.hasPrefix("SCREEN=") }?.dropFirst(7).description }
        self.variables = variables
    }

    deinit {
        _ = try? Self.shell("timeout 40 '\(keyringSupport ?? "")/session' stop '\(session)'")
    }

    /// Runs the tool with this keyring.
    func run(_ arguments: String...) async throws -> Tool.Outcome {
        try await Tool.run(arguments, variables)
    }

    /// Signs a person in.
    func login(_ arguments: String...) async throws -> Tool.Outcome { try await login(arguments) }

    func login(_ arguments: [String]) async throws -> Tool.Outcome {
        let tool = try Tool(["login"] + arguments, variables)
        try await ScriptedBrowser(provider: nil).visit(try await tool.shownAddress())
        return try await tool.outcome()
    }

    func lock() throws {
        _ = try command(
            "gdbus call --session -d org.freedesktop.secrets -o /org/freedesktop/secrets "
                + "-m org.freedesktop.Secret.Service.Lock '[\"/org/freedesktop/secrets/collection/login\"]'"
        )
    }

    /// Stops the keyring's process, so that it does not answer.
    func stopKeyring() throws { try signal("STOP") }
    func continueKeyring() throws { try signal("CONT") }

    private func signal(_ name: String) throws {
        _ = try Self.shell(". '\(session)/env'; kill -\(name) $KEYRING_PID")
    }

    /// The number of keyring dialogs on the screen.
    func dialogs() throws -> Int {
        let screen = variables["DISPLAY"] ?? ""
        let found = try command("DISPLAY=\(screen) xdotool search --onlyvisible --name Unlock || true")
        return found.split(separator: "\n").count
    }

    /// Types the password into the dialog.
    func answer() throws {
        _ = try command(
            "export DISPLAY=\(variables["DISPLAY"] ?? ""); timeout 2 xdotool windowfocus --sync $(xdotool search "
                + "--onlyvisible --name Unlock | head -1); xdotool type --delay 20 throw-away; xdotool key Return"
        )
    }

    /// Unlocks the keyring without a dialog, as the person's password does.
    func unlock() throws {
        _ = try command("'\(keyringSupport ?? "")/unlock' throw-away")
    }

    /// Runs a command with this keyring and returns its output.
    func command(_ text: String) throws -> String {
        try Self.shell("export DBUS_SESSION_BUS_ADDRESS='\(variables["DBUS_SESSION_BUS_ADDRESS"] ?? "")'; \(text)")
    }

    /// Avoids Foundation's `Process`, which waits for the daemons that a command starts.
    static func shell(_ command: String) throws -> String {
        guard let pipe = unsafe popen("{ \(command) ; } 2>&1 < /dev/null", "re") else {
            throw Failed(command: command, output: "popen")
        }
        var output: [UInt8] = []
        while case let byte = unsafe fgetc(pipe), byte != EOF { output.append(UInt8(truncatingIfNeeded: byte)) }
        let text = String(decoding: output, as: UTF8.self)
        guard unsafe pclose(pipe) == 0 else { throw Failed(command: command, output: text) }
        return text
    }
}
