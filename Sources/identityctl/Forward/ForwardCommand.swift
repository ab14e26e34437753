// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import IdentityClient
import OAuthWire
import SystemSupport

/// The commands for the forwarder.
struct ForwardCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forward",
        abstract: "Passes programs' requests on to an API, with a token that they never see.",
        discussion: """
            Without a subcommand, runs the forwarder until 'forward stop' or Ctrl-C. It listens for each profile with a line \
            'forward', at a port of 127.0.0.1 and at a socket. A program sends its requests there, with a phantom: a word \
            that is worth nothing elsewhere. See 'Let programs use an API without a token' in Docs/identityctl.md.
            """,
        subcommands: [
            ForwardRunCommand.self, ForwardAddressCommand.self, ForwardStatusCommand.self, ForwardStopCommand.self,
            ForwardNewPhantomCommand.self, ForwardInstallCommand.self, ForwardConnectCommand.self,
        ],
        defaultSubcommand: ForwardRunCommand.self
    )
}

/// The command that runs the forwarder.
struct ForwardRunCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Runs the forwarder in the foreground."
    )

    @Option(
        name: .customLong("profile"),
        help: ArgumentHelp(
            "A profile with a line 'forward', in place of all that have one. Repeatable.",
            valueName: "name"
        ),
        completion: ProfileArgument.completion
    )
    var profiles: [String] = []

    @Option(
        help: ArgumentHelp(
            "With sockets of systemd: end when no program was connected for so long, such as 10m.",
            valueName: "time"
        )
    )
    var exitIdleTime: String?

    @OptionGroup var output: OutputOptions

    func run(in session: Session) async throws {
        guard SystemCall.hideMemory() else {
            throw SystemFailure("The system does not let the forwarder keep its memory secret", number: errno)
        }
        let variables = session.environment
        let idleTime = try exitIdleTime.map { text in
            guard let time = Given(text: text, origin: "").time else {
                throw UsageError("--exit-idle-time: give a time such as 10m.")
            }
            return time
        }
        let directory = try ProfileDirectory(variables)
        let passed = try AgentSocket.activated { variables[$0] }
        let control = passed.first { $0.name == ForwardUnits.control }?.socket
        let place = try AgentPlace(ForwardPlace.control(variables), activated: control, of: .forwarder)
        defer { withExtendedLifetime(place) {} }
        let host = ForwardHost(directory, in: session, level: try output.level(variables))
        do {
            let sockets = Dictionary(grouping: passed) { $0.name }.mapValues { $0.map { $0.socket } }
            try start(host, directory, sockets, session)
            let idle = Task {
                guard let idleTime, !passed.isEmpty else { return }
                try await host.waitUntilIdle(for: idleTime)
                host.stopped.finish(.success(()))
            }
            defer { idle.cancel() }
            try await serve(host, place, session)
        } catch {
            await host.finish()
            throw error
        }
    }

    private func serve(_ host: ForwardHost, _ place: AgentPlace, _ session: Session) async throws {
        let server = try AgentServer(listeners: place.listeners) { reason in
            AgentAnswer.failure(UsageError("Bad request: \(reason).")).serialized() + [0x0A]
        } respond: { arrival in
            await host.answer(arrival.bytes)
        }
        let manager = session.environment["NOTIFY_SOCKET"]
        ServiceNotification.send("READY=1", to: manager)
        defer { ServiceNotification.send("STOPPING=1", to: manager) }
        do {
            try await host.stopped.value()
        } catch is CancellationError {
            // A signal ends the forwarder in good order too.
        }
        await server.finish()
        await host.finish()
    }

    /// Begins to listen for the profiles. If none was named, one that cannot be served is only told.
    ///
    /// - Parameter passed: The sockets of systemd, by the names of the profiles; empty without systemd.
    private func start(
        _ host: ForwardHost,
        _ directory: ProfileDirectory,
        _ passed: [String: [SharedDescriptor]],
        _ session: Session
    ) throws {
        let named = try session.environment.words("profile", profiles)
        let names =
            try named.isEmpty
            ? directory.names() : named.map { try ProfileName(Given(text: $0, origin: "--profile")) }
        var (count, failure) = (0, nil as (any Error)?)
        var unserved = passed
        unserved[ForwardUnits.control] = nil
        for name in names {
            do {
                let profile = try directory.profile(named: name)
                guard let lines = try ForwardLines(profile) else {
                    guard named.isEmpty else { throw UsageError(Self.hasNoLine(name)) }
                    continue
                }
                let record = try ForwardRecord.kept(for: lines, in: directory)
                let sockets: ForwardHost.Sockets
                if passed.isEmpty {
                    let path = try ForwardPlace.socket(of: name, session.environment)
                    sockets = try ForwardHost.Sockets(opening: record.port, of: name, path: path)
                } else {
                    sockets = try ForwardHost.Sockets(passed: passed[name.text] ?? [])
                    guard sockets.port == record.port else {
                        let advice = "To have it hold the ports of the profiles, run: identityctl forward install"
                        throw SystemFailure("systemd does not hold port \(record.port). \(advice)")
                    }
                }
                try host.start(profile, lines, phantom: record.phantom, at: sockets)
                let url = ForwardPlace.url(of: lines, at: sockets.port)
                session.console.line("\(name): \(url) leads to \(lines.address.text)")
                count += 1
                unserved[name.text] = nil
            } catch {
                guard named.isEmpty else { throw error }
                let reason = PlainReport.sentence(error)
                session.console.line("Warning: nothing is passed on for the profile '\(name)'. \(reason)")
                failure = error
                if let sockets = unserved.removeValue(forKey: name.text) {
                    try host.refuse(reason, at: ForwardHost.Sockets(passed: sockets), of: name.text)
                }
            }
        }
        for (name, sockets) in unserved {
            let reason = "The profile '\(name.printable)' has no line 'forward'. Run: identityctl forward install"
            try host.refuse(reason, at: ForwardHost.Sockets(passed: sockets), of: name)
        }
        if count > 0 || !passed.isEmpty {
            session.console.line("The forwarder listens. To see what programs need: identityctl forward address NAME")
            return
        }
        throw failure ?? UsageError(Self.noLine)
    }

    static var noLine: String { "No profile has a line 'forward'. Add one: \(addition("NAME"))" }

    static func hasNoLine(_ name: ProfileName) -> String {
        "The profile '\(name)' has no line 'forward'. Add one: \(addition(name.text))"
    }

    private static func addition(_ name: String) -> String {
        "identityctl profile set \(name) forward=https://api.example.com serves+=https://api.example.com"
    }
}

/// A command about one route.
protocol ForwardRouteCommand: ToolCommand {
    var profile: ProfileArgument { get }
}

extension ForwardRouteCommand {
    /// Returns the lines of the route, and the directory with its profile.
    fileprivate func lines(in session: Session) throws -> (ForwardLines, ProfileDirectory) {
        let directory = try ProfileDirectory(session.environment)
        let name = try profile.profile()
        guard let lines = try ForwardLines(directory.profile(named: name)) else {
            throw UsageError(ForwardRunCommand.hasNoLine(name))
        }
        return (lines, directory)
    }
}

/// The command that prints what a program needs.
struct ForwardAddressCommand: ForwardRouteCommand {
    static let configuration = CommandConfiguration(
        commandName: "address",
        abstract: "Prints the address of a route, and the socket.",
        discussion: """
            A program takes the address in place of the server's, and the phantom in place of a token, an API key or a \
            password. Programs of other users are refused, whatever they show.
            """
    )

    @OptionGroup var profile: ProfileArgument

    @Flag(help: "Print the phantom as well.")
    var showPhantom = false

    @OptionGroup var output: OutputOptions

    func run(in session: Session) async throws {
        let (lines, directory) = try lines(in: session)
        let record = try ForwardRecord.kept(for: lines, in: directory)
        var report = ForwardPlace.report(
            lines,
            url: ForwardPlace.url(of: lines, at: record.port),
            socket: try ForwardPlace.socket(of: lines.name, session.environment)
        )
        if showPhantom { report["phantom"] = .string(record.phantom) }
        if session.isJSON { return try session.result(report.line + "\n") }
        try session.result(PlainReport.claims(report, inColumns: StandardStream.output.isTerminal))
        if let hosts = ForwardRecipe.missingExceptions({ session.environment[$0] }) {
            session.console.line("Some programs would send this to your proxy. Set: no_proxy=\(hosts)")
        }
    }
}

/// The command that prints the routes of the forwarder that runs.
struct ForwardStatusCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Prints the routes of the running forwarder, and how many connections each has."
    )

    @OptionGroup var output: OutputOptions

    func run(in session: Session) async throws {
        let answer = try await ForwardPlace.ask("status", session.environment)
        let routes: [JSONObject] = (answer.array("routes") ?? []).compactMap {
            if case .object(let route) = $0 { route } else { nil }
        }
        if session.isJSON { return try session.result(routes.line + "\n") }
        for route in routes {
            let fields = ["route", "address", "server"].map { route.string($0)?.printable ?? "" }
            try session.result((fields + ["\(route.integer("clients") ?? 0)"]).joined(separator: "\t") + "\n")
        }
    }
}

/// The command that ends the forwarder.
struct ForwardStopCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop",
        abstract: "Ends the forwarder, and all requests that are under way."
    )

    @OptionGroup var output: OutputOptions

    func run(in session: Session) async throws {
        try await ForwardPlace.ask("stop", session.environment)
        try session.done("The forwarder ends.")
    }
}

/// The command that makes the phantom of a route worthless.
struct ForwardNewPhantomCommand: ForwardRouteCommand {
    static let configuration = CommandConfiguration(
        commandName: "new-phantom",
        abstract: "Replaces the phantom of a route. Programs with the old one are refused from then on."
    )

    @OptionGroup var profile: ProfileArgument
    @OptionGroup var output: OutputOptions

    func run(in session: Session) async throws {
        let (lines, directory) = try lines(in: session)
        try ForwardRecord.replacePhantom(of: lines, in: directory)
        if try ForwardPlace.isRunning(session.environment) {
            try await ForwardPlace.ask("restart", about: lines.name.text, session.environment)
        }
        try session.done(
            "The phantom is another one. To see it, run: identityctl forward address \(lines.name) --show-phantom"
        )
    }
}
