// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials

/// The command that has systemd hold the ports of the forwarder.
struct ForwardInstallCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "install",
        abstract: "Has systemd hold the ports, and start the forwarder when a program connects.",
        discussion: """
            Writes units of your own (~/.config/systemd/user) for all profiles with a line 'forward', and enables them. Then no \
            other user can take a port, whether a forwarder runs or not, and the forwarder ends after ten minutes without \
            programs. Run the command again when a profile has got or lost the line, or has another port.
            """
    )

    @Flag(help: "Disable the units, and remove them.")
    var undo = false

    @OptionGroup var output: OutputOptions

    func run(in session: Session) async throws {
        let directory = try ForwardUnits.directory(session.environment)
        let old = ForwardUnits(in: directory)
        let new = undo ? nil : try wanted(session)
        guard new?.texts ?? [:] != old.texts else {
            return try session.done("Nothing to change: the units are\(undo ? " not" : "") installed.")
        }
        try await systemctl("show-environment")
        if old.texts.isEmpty {
            guard try !ForwardPlace.isRunning(session.environment) else {
                throw SystemFailure("A forwarder runs, which has the ports. End it first: identityctl forward stop")
            }
        } else {
            try await systemctl("stop", old.texts.keys.sorted())
            try await systemctl("disable", old.sockets)
        }
        for name in old.texts.keys where new?.texts[name] == nil { _ = PlainFile.remove("\(directory)/\(name)") }
        for (name, text) in new?.texts ?? [:] {
            try PlainFile.write(Array(text.utf8), to: "\(directory)/\(name)", mode: 0o644)
        }
        try await systemctl("daemon-reload")
        guard let new else { return try session.done("Undone.") }
        try await systemctl("enable", ["--now"] + new.sockets)
        try session.done("Done. To undo this, run: identityctl forward install --undo")
    }

    /// - Throws: `UsageError` without a profile that has the line, or for one whose lines cannot be used.
    private func wanted(_ session: Session) throws -> ForwardUnits {
        let directory = try ProfileDirectory(session.environment)
        var ports: [String: UInt16] = [:]
        for name in try directory.names() {
            guard let lines = try ForwardLines(directory.profile(named: name)) else { continue }
            ports[name.text] = try ForwardRecord.kept(for: lines, in: directory).port
        }
        guard !ports.isEmpty else { throw UsageError(ForwardRunCommand.noLine) }
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return try ForwardUnits(ports, program: program, hasIPv6: ForwardUnits.hasIPv6)
    }

    private func systemctl(_ command: String, _ words: [String] = []) async throws {
        let hasWorked = try await SystemTool.run("systemctl", ["--user", command] + words, timeout: .seconds(30))
        guard hasWorked != true else { return }
        let what = hasWorked == nil ? "There is no systemctl in PATH." : "'systemctl --user \(command)' failed."
        throw SystemFailure("\(what) Without systemd, run the forwarder by itself: identityctl forward")
    }
}
