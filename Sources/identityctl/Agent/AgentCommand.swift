// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import IdentityClient
import OAuthWire
import SystemSupport

/// The commands for the agent.
struct AgentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "agent",
        abstract: "Hands out tokens to this user's programs over a socket, also to another machine over SSH.",
        discussion: """
            Without a subcommand, runs the agent until 'agent stop' or Ctrl-C. It serves all profiles, or the one client that \
            its options or variables name. Programs find it by IDENTITYCTL_AGENT, the path of its socket. A refresh token never \
            leaves it. See 'The agent' in Docs/identityctl.md.
            """,
        subcommands: [
            AgentRunCommand.self, AgentStatusCommand.self, AgentLockCommand.self, AgentUnlockCommand.self,
            AgentStopCommand.self,
        ],
        defaultSubcommand: AgentRunCommand.self
    )
}

/// The option for the agent's socket.
struct AgentSocketOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The socket; in identityctl/agent.sock of XDG_RUNTIME_DIR unless given.",
            valueName: "path"
        ),
        completion: .file()
    )
    var socket: String?
}

extension AgentSocketOption {
    /// Returns the socket of the agent that a command is about.
    func given(_ environment: Variables) throws -> Given {
        if let socket { return Given(text: socket, origin: "--socket") }
        if let agent = environment.agent { return agent }
        return Given(text: try Self.defaultPath(environment), origin: "--socket")
    }

    /// The default socket, in the directory that the system makes for each person's session.
    ///
    /// - Throws: `UsageError` where there is no such directory.
    static func defaultPath(_ environment: Variables) throws -> String {
        guard let directory = environment.runtimeDirectory else {
            throw UsageError("XDG_RUNTIME_DIR is not set here, so the agent's socket has no place. Give --socket PATH.")
        }
        return "\(directory)/identityctl/agent.sock"
    }

    /// Returns the socket for control, whose places are not another machine's; where there is none, the forwarded one.
    func nearest(_ environment: Variables) throws -> Given {
        let given = try given(environment)
        let control = AgentSocket.controlPath(given.text)
        return SystemCall.exists(control) ? Given(text: control, origin: given.origin) : given
    }
}

/// The command that runs the agent.
struct AgentRunCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Runs the agent in the foreground."
    )

    @OptionGroup var provider: ProviderOptions
    @OptionGroup var token: TokenOptions
    @OptionGroup var socket: AgentSocketOption
    @OptionGroup var output: OutputOptions

    @Flag(help: "Do not lock the agent while the screen is locked.")
    var ignoreScreen = false

    func run(in session: Session) async throws {
        guard SystemCall.hideMemory() else {
            throw SystemFailure("The system does not let the agent keep its memory from other programs", number: errno)
        }
        let environment = session.environment
        let (logger, passPhrases) = (session.logger, session.passPhrases)
        passPhrases.advise("Where the agent runs, type it by: identityctl agent unlock")
        let person = PersonAtHand(
            desktop: DesktopNotifications.show,
            program: environment["SSH_ASKPASS"],
            directories: environment["PATH"],
            terminal: { try await passPhrases.line($0, isShown: true) }
        )
        let service = AgentService(
            try profiles(session),
            logger: logger,
            passPhrases: passPhrases,
            ask: person.ask,
            show: DesktopNotifications.show,
            signIn: { try await $0.signIn() },
            make: { try session.application($0.options, under: $0.environment, isOne: false) }
        )
        let passed = try AgentSocket.activated { environment[$0] }
        guard passed.count < 2 else {
            throw SystemFailure("systemd passed other than one socket. Look at the agent's socket unit.")
        }
        let activated = passed.first?.socket
        let path =
            try activated.flatMap(AgentSocket.path) ?? socket.socket ?? AgentSocketOption.defaultPath(environment)
        guard path.hasPrefix("/") else { throw UsageError("--socket: the path of a socket begins with /.") }
        let place = try AgentPlace(path, activated: activated)
        defer { withExtendedLifetime(place) {} }
        let screen = try await followScreen(for: service, session)
        defer { screen?.cancel() }
        let server = try AgentServer(listeners: place.listeners) { reason in
            AgentAnswer.failure(UsageError("Bad request: \(reason).")).serialized() + [0x0A]
        } respond: { arrival in
            await service.answer(arrival.bytes, from: arrival.peer, isControl: arrival.listener == 1)
        }
        try session.done("The agent listens. In the shells that use it: export IDENTITYCTL_AGENT=\(path.shellWord)")
        let renewal = Task { await service.keepRenewing() }
        defer { renewal.cancel() }
        do {
            try await service.stopped.value()
        } catch is CancellationError {
            // A signal ends the agent in good order too.
        }
        await server.finish()
        await service.finishPendingWork()
    }

    /// Locks the agent with the screen from now on, also if the screen is locked already.
    private func followScreen(for service: AgentService, _ session: Session) async throws -> Task<Void, Never>? {
        guard try !session.environment.isOn("ignore-screen", ignoreScreen) else { return nil }
        let lock = ScreenLock(logger: session.logger) { service.screenChanged(isLocked: $0) }
        let ready = Promise<Void>()
        let task = Task { await lock.follow(ready: ready) }
        // A desktop that does not answer must not keep programs waiting.
        try? await withDeadline(.seconds(2)) { try await ready.value() }
        return task
    }

    /// The client that an option, a variable or `--profile` names as the only profile, or else all profiles.
    private func profiles(_ session: Session) throws -> AgentProfiles {
        let variables = session.environment
        guard try provider.namesOne(variables) || variables.given("profile", provider.profile) != nil else {
            let given = Setting.ofProvider.first { OptionGroups(provider: provider).isGiven($0) }?.option
            if let option = given ?? (token.scopes.isEmpty ? nil : "--scope") ?? token.claims.map({ _ in "--claims" }) {
                throw UsageError("\(option): the agent serves all profiles, which say this. Name one with --profile.")
            }
            let lines = session.lines
            if try lines.names().isEmpty {
                session.console.line(
                    "There is no profile yet. To add one: identityctl profile add NAME --preset PRESET …"
                )
            }
            return .all(lines, variables, provider)
        }
        let environment = try TokenRoute(provider, variables, session.lines).variables
        _ = try provider.configuration(environment)  // a mistake is found now
        let profile = AgentProfile(
            name: environment.profile?.name.text ?? "default",
            environment: environment,
            options: provider,
            scopes: token.scopes,
            login: provider.shared(token),
            keepsVariables: true,
            version: ""
        )
        return .only(profile)
    }
}

/// A command that sends one request to a running agent.
protocol AgentControlCommand: ToolCommand {
    var socket: AgentSocketOption { get }
    static var request: AgentRequest { get }
    /// The sentence for a request that was carried out.
    static var done: String { get }
}

extension AgentControlCommand {
    /// Asks over the socket for control, which is beside the other.
    func ask(_ request: AgentRequest, _ session: Session) async throws -> JSONObject {
        let given = try socket.given(session.environment)
        let control = Given(text: AgentSocket.controlPath(given.text), origin: given.origin)
        guard SystemCall.exists(control.text) || !SystemCall.exists(given.text) else {
            throw AuthenticationError(
                .blockedByPolicy,
                """
                The agent at \(given.text.printable) (\(given.origin)) is forwarded to here. It is unlocked and ended only on \
                the machine where it runs.
                """
            )
        }
        return try await AgentClient(socket: control).ask(request, within: .seconds(30))
    }

    func run(in session: Session) async throws {
        _ = try await ask(Self.request, session)
        try session.done(Self.done)
    }
}

/// The command that shows whether an agent runs.
struct AgentStatusCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Prints whether the agent is locked, and its profiles."
    )

    @OptionGroup var socket: AgentSocketOption
    @OptionGroup var output: OutputOptions

    func run(in session: Session) async throws {
        let answer = try await AgentClient(socket: try socket.nearest(session.environment)).ask(.status)
        let isLocked = answer.bool("locked") == true
        let names = answer.strings("profiles") ?? []
        if let other = AgentAnswer.otherVersion(in: answer) { session.console.line("Warning: \(other).") }
        if session.isJSON {
            var report = JSONObject([("locked", .bool(isLocked)), ("profiles", .strings(names))])
            report["version"] = answer.string("version").map { .string($0) }
            return try session.result(report.line + "\n")
        }
        if session.console.isTerminal, let version = answer.string("version") {
            session.console.line("The agent's version is \(version.printable).")
        }
        try session.result(([isLocked ? "locked" : "unlocked"] + names.map(\.printable)).joined(separator: "\n") + "\n")
    }
}

/// The command that locks an agent.
struct AgentLockCommand: AgentControlCommand {
    static let configuration = CommandConfiguration(
        commandName: "lock",
        abstract: "Locks the agent: it hands out nothing until 'agent unlock'."
    )
    static let request = AgentRequest.lock
    static let done = "The agent is locked."

    @OptionGroup var socket: AgentSocketOption
    @OptionGroup var output: OutputOptions

    func run(in session: Session) async throws {
        _ = try await AgentClient(socket: try socket.nearest(session.environment)).ask(Self.request)
        try session.done(Self.done)
    }
}

/// The command that unlocks an agent.
struct AgentUnlockCommand: AgentControlCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock",
        abstract: "Unlocks the agent, only on the machine where it runs.",
        discussion: "Asks at the terminal for each pass phrase of a key that the agent needs and has no terminal for."
    )
    static let request = AgentRequest.unlock(nil)
    static let done = "The agent is unlocked."

    @OptionGroup var socket: AgentSocketOption
    @OptionGroup var output: OutputOptions

    func run(in session: Session) async throws {
        let answer = try await ask(Self.request, session)
        for key in answer.strings("pass_phrases") ?? [] {
            let text = try await session.passPhrases.ask("Pass phrase of \(key)")
            _ = try await ask(.unlock(AgentRequest.PassPhrase(key: key, text: text)), session)
        }
        try session.done(Self.done)
    }
}

/// The command that ends an agent.
struct AgentStopCommand: AgentControlCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop",
        abstract: "Ends the agent, only on the machine where it runs."
    )
    static let request = AgentRequest.stop
    static let done = "The agent ends."

    @OptionGroup var socket: AgentSocketOption
    @OptionGroup var output: OutputOptions
}
