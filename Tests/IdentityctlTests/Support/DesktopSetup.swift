// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import OAuthWire

/// A bus on which a stand-in shows notifications and locks the screen, and an agent beside it.
final class DesktopSetup: Sendable {
    let tool: ToolSetup
    /// The variables of the agent.
    let variables: [String: String]
    private let session: String
    private let log: String
    private let capabilities: String

    /// - Parameters:
    ///   - answer: The behavior of the person: see `Tests/Support/keyring/fake-desktop`. `nil` for a bus without a desktop.
    init(_ answer: String? = nil, capabilities: String = "actions,body,body-markup") throws {
        tool = try ToolSetup()
        session = tool.directory.path + "/session"
        self.capabilities = capabilities
        log = tool.directory.path + "/desktop.log"
        _ = try KeyringSetup.shell("timeout 40 '\(keyringSupport ?? "")/session' start '\(session)' no-service")
        let told = try String(contentsOfFile: session + "/env", encoding: .utf8).split(separator: "\n")
        let address = told.first { $0.hasPrefix("BUS=") }.map { String($0.dropFirst(4)) } ?? ""
        var variables = tool.variables
        variables["DBUS_SESSION_BUS_ADDRESS"] = address
        variables["DBUS_SYSTEM_BUS_ADDRESS"] = address
        self.variables = variables
        if let answer { try startDesktop(answer) }
    }

    deinit {
        _ = try? KeyringSetup.shell("timeout 40 '\(keyringSupport ?? "")/session' stop '\(session)'")
    }

    private func startDesktop(_ answer: String) throws {
        _ = try command(
            "'\(keyringSupport ?? "")/fake-desktop' '\(log)' '\(capabilities)' \(answer) >'\(log).errors' 2>&1 & "
                + "gdbus wait --session --timeout 30 org.freedesktop.Notifications"
        )
    }

    /// Ends the bus, and the desktop with it.
    func endBus() throws {
        _ = try KeyringSetup.shell("kill -KILL $(sed -n s/BUS_PID=//p '\(session)/env')")
    }

    /// Starts the bus again at its address, and the desktop.
    func startBus(_ answer: String) throws {
        _ = try KeyringSetup.shell("timeout 40 '\(keyringSupport ?? "")/session' bus '\(session)'")
        try startDesktop(answer)
    }

    /// Runs a command on the bus.
    func command(_ text: String) throws -> String {
        try KeyringSetup.shell(
            "export DBUS_SESSION_BUS_ADDRESS='\(variables["DBUS_SESSION_BUS_ADDRESS"] ?? "")'; \(text)"
        )
    }

    /// Tells the stand-in what to do.
    func tell(_ method: String, _ arguments: String...) throws {
        _ = try command(
            "gdbus call --session -d org.freedesktop.Notifications -o /org/freedesktop/Notifications "
                + "-m org.example.Control.\(method) \(arguments.joined(separator: " "))"
        )
    }

    /// The notifications that the stand-in showed, and the numbers of those that were taken back.
    func notices() throws -> [JSONObject] {
        let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""  // nothing was shown
        return try text.split(separator: "\n").map { try JSONObject(parsing: Array($0.utf8)) }
    }

    /// Starts an agent, with the variables of the programs that use it.
    func agent(_ more: [String: String] = [:], _ arguments: String...) async throws -> (Tool, [String: String]) {
        let path = "\(tool.directory.path)/run/agent.sock"
        let agent = try Tool(["agent", "--socket", path] + arguments, variables.merging(more) { $1 })
        _ = try await agent.errorLine { $0.hasPrefix("The agent listens.") }
        return (agent, ["IDENTITYCTL_AGENT": path])
    }
}
