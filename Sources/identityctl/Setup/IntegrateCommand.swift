// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityClient
import OAuthWire
import SystemSupport

/// The command that sets another tool up to ask this program for tokens.
struct IntegrateCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "integrate",
        abstract: "Sets git, docker, Claude Code or another tool up to get tokens, or undoes that.",
        discussion: """
            The command shows each change and then makes it: in your own configuration of the tool, by the tool's own command \
            if there is one, and a link in ~/.local/bin if the tool looks for a helper in PATH. It changes no setting that \
            names something else, and a second run changes nothing. 'identityctl doctor' tells what is set up and whether it \
            works.

            A program that speaks MCP (claude-code, codex, vscode, cursor, gemini, opencode) gets an entry that starts \
            'identityctl mcp' for the server of --resource, or of the profile's line 'resource'. On a terminal the command then \
            offers the sign-in, starts the entry as the program will, and says what the program gets. With --gateway, Claude Code \
            and Codex ask the forwarder for their model in place of that gateway. For mail programs, rclone \
            and Google's libraries, the command shows the lines, and writes none.

            With --undo and without --profile and --serves, everything that the tool asks identityctl for is undone. With an \
            agent of another machine (IDENTITYCTL_AGENT), --serves names the addresses.
            """
    )

    @Argument(
        help: ArgumentHelp("The tool: \(IntegratedTool.allValueStrings.joined(separator: ", ")).", valueName: "tool"),
        completion: IntegratedTool.defaultCompletionKind,
        transform: IntegratedTool.named
    )
    var tool: IntegratedTool

    @Argument(help: ArgumentHelp("For ssh: the host, as you type it after 'ssh'.", valueName: "host"))
    var host: String?

    @Option(
        help: ArgumentHelp("The profile whose addresses get tokens; the default one unless given.", valueName: "name"),
        completion: ProfileArgument.completion
    )
    var profile: String?

    @Option(
        help: ArgumentHelp("Set up only this address, which a profile serves. Repeatable.", valueName: "url")
    )
    var serves: [String] = []

    @Option(help: ArgumentHelp("The MCP server that the program shall reach.", valueName: "url"))
    var resource: String?

    @Option(
        help: ArgumentHelp(
            "For Claude Code and Codex: the gateway that the program shall ask for its model, through the forwarder.",
            valueName: "url"
        )
    )
    var gateway: String?

    @Flag(
        help:
            "With --gateway: without the forwarder. The program runs 'identityctl helper api-key', and sends the token itself."
    )
    var helper = false

    @Option(help: ArgumentHelp("The server's name in the program; that of its host unless given.", valueName: "name"))
    var name: String?

    @Option(
        help: ArgumentHelp(
            "The account for the MCP server: an id or a username that 'identityctl accounts' lists.",
            valueName: "id-or-username"
        ),
        completion: AccountOption.completion
    )
    var account: String?

    @Flag(help: "Sign in for the MCP server if need be, without the question, and try the program's start.")
    var signIn = false

    @Flag(help: "Undo what was set up.")
    var undo = false

    @Flag(help: "Show the changes, and make none.")
    var dryRun = false

    @OptionGroup var output: OutputOptions

    func run(in session: Session) async throws {
        let home = try Home(session.environment)
        let integration = tool.integration(in: home)
        guard tool.asks == .servers || (resource == nil && name == nil && account == nil && !signIn),
            tool.asks != .servers || serves.isEmpty
        else {
            let others = "no --resource, --name, --account and --sign-in"
            throw UsageError("\(tool.name) takes \(tool.asks == .servers ? "--resource, and no --serves" : others).")
        }
        guard host == nil || tool.asks == .host, tool.asks != .host || serves.isEmpty && (undo || host != nil) else {
            throw UsageError(
                tool.asks == .host ? "Which host? Run: identityctl integrate ssh HOST" : "Only ssh takes a host."
            )
        }
        guard gateway == nil ? !helper : tool.hasGateway && resource == nil && name == nil && account == nil && !signIn
        else {
            throw UsageError(
                gateway == nil
                    ? "--helper: give --gateway URL as well."
                    : "--gateway is for claude-code and codex, and takes --profile and --helper alone."
            )
        }
        guard !signIn || !undo && !dryRun else { throw UsageError("--sign-in goes with neither --undo nor --dry-run.") }
        let subject =
            try gatewaySubject(session, home) ?? hostSubject(session)
            ?? (undo ? undoneSubject(session) : subject(session))
        let plan: IntegrationPlan
        if let subject, !undo {
            plan = try await integration.adding(subject)
        } else {
            plan = try await integration.removing(subject)
        }
        for change in plan.changes { session.console.line(change.text) }
        for note in plan.notes { session.console.line("Note: \(note)") }
        for line in plan.advice + plan.lines { session.console.line(line) }
        guard plan.advice.isEmpty else { return try session.done("Nothing was changed.", plan.report) }
        guard !plan.changes.isEmpty else {
            try session.done("Nothing to change: \(tool.name) is\(undo ? " not" : "") set up.", plan.report)
            return undo ? () : try await tryStart(subject?.server, home, session)
        }
        guard !dryRun else { return try session.done("Nothing was changed, because of --dry-run.", plan.report) }
        for change in plan.changes {
            try Task.checkCancellation()
            try await change.perform(in: home)
        }
        guard !undo else { return try session.done("Undone.", plan.report) }
        try session.done("Done. To undo this, run: \(undoing)", plan.report)
        try await tryStart(subject?.server, home, session)
    }

    /// Signs in if need be, and starts a server's entry as the program will.
    private func tryStart(_ server: MCPServerEntry?, _ home: Home, _ session: Session) async throws {
        guard let server, !dryRun else { return }
        let (console, isElsewhere) = (session.console, session.route.agent != nil)
        if !isElsewhere, try await !server.isSignedIn(session) {
            let login = server.login
            var goesOn = signIn
            if !goesOn { goesOn = try await wantsToSignIn(console) }
            guard goesOn else {
                return console.line("To sign in, run: \(login.command("login"))")
            }
            let program = try Program(([home.program, "login"] + login.words).map { CText($0) }, in: CText(""))
            guard try await program.runInTerminal(CText.environment) else {
                throw SystemFailure("There was no sign-in. To try again, run: \(login.command("login"))")
            }
        }
        guard signIn || console.isTerminal else { return }
        let tools: [String]
        do {
            let words = [home.command] + server.arguments
            tools = try await tool.start.tools(of: words, in: home, setting: home.placesOfSignIns)
        } catch let failure as SystemFailure {
            throw SystemFailure("Started as \(tool.name) does, the server cannot be used. \(failure)")
        }
        guard tools != [MCPSignInTool.name] else {
            throw SystemFailure(
                "Started as \(tool.name) does, the server finds no sign-in. Run: identityctl doctor \(server.address.shellWord)"
            )
        }
        let count = tools.count == 1 ? "one tool" : "\(tools.count) tools"
        let person = isElsewhere ? "" : ", as \(try await server.chosenAccount(session).shortLabel)"
        console.line("Started as \(tool.name) does, the server has \(count)\(person).")
    }

    private func wantsToSignIn(_ console: Console) async throws -> Bool {
        guard console.isTerminal else { return false }
        console.line("Sign in now? [Y/n]")
        do {
            let lines = try await LineReader(missing: "Nothing was typed")
            return try await ["", "y", "yes"].contains(lines.next(until: .now + .seconds(300)).lowercased())
        } catch AuthenticationError.Code.userCancelled {
            return false  // the input has ended
        }
    }

    /// The command that undoes this one.
    private var undoing: String {
        let options = profile.map { ["--profile", $0] } ?? []
        return Home.line(
            ["identityctl", "integrate", tool.name] + [host].compactMap(\.self) + options
                + serves.flatMap { ["--serves", $0] }
                + [("--resource", resource), ("--name", name), ("--account", account), ("--gateway", gateway)].flatMap {
                    option,
                    value in
                    value.map { [option, $0] } ?? []
                } + (helper ? ["--helper"] : []) + ["--undo"]
        )
    }

    /// Returns the gateway that a program shall ask; `nil` if none is named.
    private func gatewaySubject(_ session: Session, _ home: Home) throws -> IntegrationSubject? {
        let named = try session.environment.given("profile", profile).map { try ProfileName($0) }
        let entry = try gateway.map { try GatewayEntry($0, of: named, byHelper: helper, in: home) }
        return entry.map { IntegrationSubject(profile: named, addresses: [], gateway: $0) }
    }

    /// Returns the host to which SSH brings sockets; `nil` if none is named.
    private func hostSubject(_ session: Session) throws -> IntegrationSubject? {
        guard let host else { return nil }
        guard host.utf8.areAlphanumeric(or: "._-"), host.first != "-" else {
            throw UsageError("'\(host.printable)' is no host: letters, digits, '.', '_' and '-'.")
        }
        let named = try session.environment.given("profile", profile).map { try ProfileName($0) }
        return IntegrationSubject(profile: named, addresses: [], host: host)
    }

    /// Returns the server that a program shall reach: that of `--resource`, or of a profile; `nil` if none is named.
    private func server(_ session: Session) throws -> IntegrationSubject? {
        let environment = session.environment
        let isElsewhere = session.route.agent != nil
        let named = isElsewhere ? nil : try environment.given("profile", profile).map { try ProfileName($0) }
        let directory = isElsewhere ? nil : try ProfileDirectory(environment)
        guard
            let address = try resource.map({ Given(text: $0, origin: "--resource") })
                ?? named.flatMap({ try directory?.profile(named: $0).given("resource") })
        else { return nil }
        let server = try MCPServerEntry(address: address, name: name, profile: named, account: account)
        if !undo, server.isOfOlderTransport {
            session.console.line(
                "Note: /sse is often an address of the older transport, which identityctl does not speak. /mcp is often beside it."
            )
        }
        return IntegrationSubject(profile: named, addresses: [], server: server)
    }

    /// Returns what is undone; `nil` for everything.
    private func undoneSubject(_ session: Session) throws -> IntegrationSubject? {
        if tool.asks == .servers {
            guard let server = try server(session) else {
                guard name == nil, profile == nil, account == nil else { throw Self.whichServer }
                return nil
            }
            return server
        }
        let addresses = try serves.map(ServedAddress.init(option:))
        guard let given = try session.environment.given("profile", profile) else {
            return addresses.isEmpty ? nil : IntegrationSubject(profile: nil, addresses: addresses)
        }
        let named = try ProfileDirectory(session.environment).profile(named: try ProfileName(given))
        let served = addresses.isEmpty ? try TokenReach(of: named).served() : addresses
        return IntegrationSubject(profile: named.name, addresses: served)
    }

    private static let whichServer = UsageError(
        "Which server? Give --resource URL, or a profile with a line 'resource = URL'."
    )

    /// Returns what is set up: addresses for which the helper will find the profile.
    private func subject(_ session: Session) throws -> IntegrationSubject {
        if tool.asks == .servers {
            guard let server = try server(session) else { throw Self.whichServer }
            return server
        }
        let addresses = try serves.map(ServedAddress.init(option:))
        let environment = session.environment
        guard session.route.agent == nil else {
            let needsAddress = tool.asks == .addresses
            guard (profile == nil) == needsAddress, addresses.isEmpty != needsAddress else {
                throw UsageError(
                    "The agent has the profiles. Give \(needsAddress ? "--serves, and no --profile" : "--profile alone")."
                )
            }
            let name = try profile.map { try ProfileName(Given(text: $0, origin: "--profile")) }
            return IntegrationSubject(profile: name, addresses: addresses)
        }
        let directory = try ProfileDirectory(environment)
        let given = try environment.given("profile", profile).map { try ProfileName($0) }
        guard let name = try given ?? directory.usualName() else {
            throw UsageError("Which profile? Give --profile NAME. 'identityctl profile list' lists them.")
        }
        let named = try directory.profile(named: name)
        let served = addresses.isEmpty ? try TokenReach(of: named).served() : addresses
        guard !served.isEmpty || tool.asks == .profile else {
            throw UsageError(
                "The profile '\(name)' serves no address. Add a line such as 'serves = https://git.example.com': "
                    + "identityctl profile edit \(name)"
            )
        }
        // Whether an address has its profile matters only to a tool that asks for addresses.
        for address in served where tool.asks == .addresses {
            let found = try directory.profile(serving: address, for: named.given("username")?.text) {
                session.console.line("Warning: \($0)")
            }
            guard found?.name == name else {
                let other = found.map { ", but '\($0.name)' does" } ?? ""
                throw UsageError("The profile '\(name)' does not serve \(address.text)\(other).")
            }
        }
        return IntegrationSubject(profile: name, addresses: served)
    }
}
