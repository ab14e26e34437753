// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import IdentityClient

/// The tool. See `Docs/identityctl.md`.
@main
struct Identityctl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "identityctl",
        abstract: "Signs people in with OAuth 2.0 and OpenID Connect, for shells and scripts.",
        discussion: """
            Standard output carries the result and nothing else. Most options can also be set as environment variables, \
            for example IDENTITYCTL_CLIENT_ID for --client-id, or stand in a profile; the command line wins. Options of a single request, such as \
            --data and --parameter, and --all, --remove and --to have no variable.

            Exit status: 0 done; 2 a person is needed, run 'identityctl login'; 3 network or server unavailable; \
            4 token cache unavailable; 5 an answer was not believed; 6 cancelled or timed out; 7 the \
            provider or the person said no; 8 no browser here; 9 several accounts, and none is the default one; \
            10 nothing was revoked; 11 a new refresh token could not be stored; 22 the API of 'call' answered with another status than 200 to 299; 64 wrong usage; \
            126 and 127 'exec' could not start the command; 1 anything else.
            """,
        version: LibraryVersion.current,
        subcommands: [DeliverRedirectCommand.self],
        groupedSubcommands: [
            CommandGroup(
                name: "Sign in",
                subcommands: [
                    SetupCommand.self, LoginCommand.self, AccountsCommand.self, LogoutCommand.self, ProfileCommand.self,
                    ImportCommand.self,
                ]
            ),
            CommandGroup(
                name: "Use tokens",
                subcommands: [
                    TokenCommand.self, CallCommand.self, ExecCommand.self, UserInfoCommand.self, IntrospectCommand.self,
                    ExchangeCommand.self, SSHCertificateCommand.self,
                ]
            ),
            CommandGroup(
                name: "Set programs up",
                subcommands: [
                    IntegrateCommand.self, MCPCommand.self, AgentCommand.self, ForwardCommand.self, HelperCommand.self,
                    RegisterSchemeCommand.self,
                ]
            ),
            CommandGroup(
                name: "Look after it",
                subcommands: [DoctorCommand.self, CacheCommand.self, RegistrationCommand.self]
            ),
        ]
    )

    static func main() async {
        StandardStream.fillClosed()
        var isWhole = false
        let words = InheritedState.words
        var arguments = Array(words.dropFirst())
        do {
            // Without /proc there is not even the program's name here, and libdispatch ends programs at random.
            guard !words.isEmpty else {
                throw SystemFailure("/proc is not mounted here, and no argument can be read. Mount it, and try again.")
            }
            try OpenFileLimit.check()
            if Helper.isHelp(arguments) { show(helpMessage(for: HelperCommand.self)) }
            if let command = HelperCommand(calledAs: words) { try await command.run() }
            try checkHelp(arguments)
            try MistypedCommand.check(arguments, of: Self.self)
            // What follows -- is another program's.
            if let index = arguments.prefix(while: { $0 != "--" }).firstIndex(of: ShortHelp.wholeOption) {
                arguments[index] = "--help"
                isWhole = true
            }
            if let command = TokenCommand(quickly: arguments) { try await command.run() }
            var command = try parseAsRoot(arguments)
            if command is MCPCommand { ParentVariables.adopt() }
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            end(with: error, arguments, showingAll: isWhole)
        }
    }

    /// Ends the program with the status of a command, the requested help, or an error in the arguments.
    private static func end(with error: any Error, _ arguments: [String], showingAll isWhole: Bool) -> Never {
        if let status = error as? ExitCode { Glibc.exit(status.rawValue) }
        guard exitCode(for: error) != .success else {
            let message = fullMessage(for: error)
            show(isWhole ? message : ShortHelp.firstPage(of: message))
        }
        let isOfTheSystem = error is SystemFailure
        if isJSON(arguments) {
            let known: any Error = isOfTheSystem ? error : UsageError(message(for: error))
            Console.standardError().line(JSONReport.error(known).line)
        } else {
            let text = isOfTheSystem ? "\(error)" : fullMessage(for: error)
            // The parser's own errors begin with another word than all others.
            Console.standardError().line("identityctl: \(text.trimmingPrefix("Error: "))")
        }
        Glibc.exit((isOfTheSystem ? ExitStatus.other : .usage).rawValue)
    }

    private static func isJSON(_ arguments: [String]) -> Bool {
        Variables.process.isJSON(arguments.contains("--json"))
    }

    /// Ends the program with a requested text: help, a version or completions.
    private static func show(_ text: String) -> Never {
        do {
            try StandardStream.output.write(text + "\n")
        } catch {
            Console.standardError().line("identityctl: \(error)")
            Glibc.exit(ExitStatus.other.rawValue)
        }
        Glibc.exit(ExitStatus.done.rawValue)
    }

    /// Refuses help for an unknown command. The argument parser would show the help of all commands.
    private static func checkHelp(_ arguments: [String]) throws {
        guard arguments.first == "help" else { return }
        try MistypedCommand.check(arguments.dropFirst().filter { $0.utf8.first != UInt8(ascii: "-") }, of: Self.self)
    }
}
