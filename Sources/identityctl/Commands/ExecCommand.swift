// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityClient
import OAuthWire
import SystemSupport

/// The command that runs another command with a token.
struct ExecCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "exec",
        abstract: "Runs a command with a token in its environment, or in a file that is kept fresh.",
        usage: "identityctl exec [<options>] [--env <name>] [--token-file] -- <command> [<argument> ...]",
        discussion: """
            The command takes the place of this program: signals, the terminal and the exit status are the command's own. \
            Without a token it is not started, and the status is that of 'identityctl token': 2 when a person has to sign \
            in. 126: the command could not be started; 127: there is no such command.

            With --token-file, the variable has the path of a file, in which the token is renewed until the command ends.

            With --forward, the command gets no token. It gets the address of a forwarder, which ends with it, and a phantom: \
            a word that is worth nothing elsewhere. The profile needs a line 'forward'; see 'identityctl forward'.

            identityctl exec --env GITLAB_TOKEN -- glab mr list
            """
    )

    @OptionGroup var provider: ProviderOptions
    @OptionGroup var token: TokenOptions
    @OptionGroup var account: AccountOption
    @OptionGroup var silent: SilentOptions

    @Option(
        name: .customLong("env"),
        help: ArgumentHelp(
            "The variable for the token, BEARER_TOKEN unless given, or BEARER_TOKEN_FILE for a file. Repeatable.",
            valueName: "name"
        )
    )
    var names: [String] = []

    @Flag(name: .customLong("token-file"), help: "Give the path of a file with the token, which is kept fresh.")
    var isFile = false

    @Option(
        help: ArgumentHelp(
            "Pass the command's requests on with the profile's token, which it never sees.",
            discussion:
                "The recipe chooses the variables of the command: http, claude-code, openai, npm, pip or git; several are "
                + "separated by commas.",
            valueName: "recipe"
        ),
        completion: .list(ForwardRecipe.allCases.map(\.rawValue))
    )
    var forward: String?

    @Option(
        help: ArgumentHelp(
            "With --forward: through the forwarder at this socket, such as another machine's that SSH brings.",
            discussion: "This machine then needs no profile and no sign-in.",
            valueName: "path"
        ),
        completion: .file()
    )
    var forwardAt: String?

    @Option(help: ArgumentHelp("The directory of the file that this process keeps fresh.", visibility: .private))
    var companion: String?

    @Flag(name: .customLong("detached"), help: ArgumentHelp("Be the companion.", visibility: .private))
    var isDetached = false

    @OptionGroup var output: OutputOptions

    @Argument(parsing: .postTerminator, help: ArgumentHelp("The command with its arguments.", valueName: "command"))
    var command: [String] = []

    var clientOptions: ProviderOptions? { provider }
    var asksAgent: Bool { true }

    var readsSignIns: Bool { true }
    var sharedOptions: SharedOptions { provider.shared(token, account) }

    func validate() throws {
        if companion != nil { Companion.ignoreSignals() }
        // Running a command begins with changes to the signals.
        _ = InheritedState.atStart
    }

    func advice(on error: any Error, in session: Session) -> String? { SilentOptions.advice(on: error) }

    func run(in session: Session) async throws {
        if let companion { return try await accompany(in: companion, session: session) }
        let names = try variableNames()
        _ = try recipes()
        // A mistyped command costs no token.
        let program = try Program(commandArguments(), in: CText(session.environment["PATH"] ?? "/usr/bin:/bin"))
        let variables: [CText]
        if forward != nil {
            variables = try await forwardedVariables(in: session)
        } else {
            let value =
                if isFile {
                    try await freshFile(in: session)
                } else {
                    try await session.firstToken(
                        WantedToken(token, account, silent, session.environment),
                        session.source(provider, for: "exec")
                    ).text
                }
            variables = CommandEnvironment.variables(
                CText.environment,
                withholding: Variables.secrets,
                setting: names,
                to: value
            )
        }
        // Nothing that is under way survives the program.
        await session.finishPendingWork()
        try Task.checkCancellation()
        // The status is the program's.
        if let loss = session.loss { session.report(loss) }
        session.console.clearProgress()
        InheritedState.atStart.restore()
        throw program.replaceProcess(variables)
    }

    private func variableNames() throws -> [String] {
        guard !names.isEmpty else { return [isFile ? "BEARER_TOKEN_FILE" : "BEARER_TOKEN"] }
        for name in names {
            guard name.utf8.areAlphanumeric(or: "_"), name.utf8.first?.isDigit == false else {
                throw UsageError(
                    "--env: '\(name.printable)' is no name of a variable. It has letters, digits and _, no digit first."
                )
            }
        }
        return names
    }

    /// Returns the command as it was typed. The parser repairs texts that are not UTF-8.
    private func commandArguments() throws -> [CText] {
        guard !command.isEmpty else {
            throw UsageError("Which command? Put it at the end, after two dashes: identityctl exec -- COMMAND")
        }
        guard !SystemCall.hasRaisedRights else {
            throw UsageError("This program has rights that its caller lacks, and starts no command with them.")
        }
        return InheritedState.arguments.suffix(command.count)
    }
}
