// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityClient
import OAuthWire
import SystemSupport

/// The command that leads a person from nothing to a token.
struct SetupCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "setup",
        abstract: "Leads you from nothing to a token, one question at a time.",
        discussion: """
            Asks where you sign in, for a client if the server registers none by itself, where the tokens rest if there is no \
            keyring, for the profile's name, and which programs shall get the tokens. Nothing is asked that an option or a \
            preset says. Each command is shown before it runs, so that you can put it into a script: 'profile add', 'login' and \
            'integrate'.
            """
    )

    @Argument(
        help: ArgumentHelp(
            "A provider's name, such as gitlab ('identityctl profile presets'), or the address of a provider or an API.",
            valueName: "where"
        ),
        completion: .list(Preset.names)
    )
    var place: String?

    @OptionGroup var provider: ProviderOptions
    @OptionGroup var token: TokenOptions
    @OptionGroup var output: OutputOptions

    @Option(help: ArgumentHelp("The host, tenant or realm that a preset needs.", valueName: "host"))
    var domain: String?

    @Option(help: ArgumentHelp("The name of the profile that is made.", valueName: "name"))
    var name: String?

    @Option(
        name: .customLong("integrate"),
        help: ArgumentHelp(
            "A tool that shall get the tokens ('identityctl integrate'); none for none. Repeatable.",
            valueName: "tool"
        ),
        completion: .list(["none"] + IntegratedTool.allValueStrings)
    )
    var tools: [String] = []

    @Flag(help: "Sign in with a code that you type on any other device.")
    var deviceCode = false

    @Flag(help: "Sign in with a browser elsewhere, and paste the address at which it ends.")
    var manual = false

    var isAboutSignIns: Bool { true }

    func validate() throws {
        guard provider.profile == nil else { throw ValidationError("The new profile's name is given by --name.") }
        guard !manual || !deviceCode else { throw ValidationError("Give one of --manual and --device-code.") }
    }

    func run(in session: Session) async throws {
        let questions = Questions.arePossible ? try await Questions(session.console) : nil
        var steps = try SetupSteps(session)
        let place = try await SetupPlace(given(), provider, domain, session, questions)
        var options = provider.shared(token)
        let store = try await store(session, questions)
        if let store { options = options.replacing("--cache", with: store) }
        let client = try await place.client(provider, store, session, questions)
        let directory = try ProfileDirectory(session.environment)
        let name = try await profileName(place, directory, questions)
        let lines = place.words + client.words + options.without("--client-id").words
        try await steps.run(["profile", "add", name.text] + lines, secret: client.secret)
        let method = deviceCode ? ["--device-code"] : manual ? ["--manual"] : []
        try await steps.run(["login", "--profile", name.text] + method)
        let chosen = try await chosenTools(try directory.profile(named: name), steps, questions)
        for tool in chosen { try await steps.run(["integrate", tool.name, "--profile", name.text]) }
        let next = " To have a program ask for its tokens, run: identityctl integrate PROGRAM --profile \(name)"
        session.console.line("Done.\(chosen.isEmpty ? next : "")")
        if session.isJSON {
            let report = JSONObject([("profile", .string(name.text)), ("commands", .strings(steps.lines))])
            try session.result(report.line + "\n")
        }
    }

    /// The place that the command line names; `nil` if it names none.
    private func given() throws -> SetupPlace.Named? {
        if provider.isOnCommandLine || provider.resource != nil {
            guard place == nil else {
                throw UsageError("Name the provider or the API once: by its address alone, or by an option.")
            }
            return .options
        }
        return place.map { .text($0) }
    }

    /// Returns the value of `--cache`; `nil` for the usual store.
    private func store(_ session: Session, _ questions: Questions?) async throws -> String? {
        if let given = try session.environment.given("cache", provider.cache) { return given.text }
        guard try await TokenPlace.lacksKeyring() else {
            session.console.line(
                "Tokens will rest in encrypted files. Their key is in your keyring, where no other user reads it."
            )
            return nil
        }
        guard let questions else {
            throw UsageError(
                "There is no keyring here. Say where tokens rest: --cache \(TokenPlace.encrypted), or --cache file"
            )
        }
        return try await TokenPlace.chosen(questions, session.environment["HOME"])
    }

    private func profileName(
        _ place: SetupPlace,
        _ directory: ProfileDirectory,
        _ questions: Questions?
    ) async throws -> ProfileName {
        if let name { return try ProfileName(Given(text: name, origin: "--name")) }
        let names = try directory.names()
        let proposed = ProposedName.name(for: place.address, besides: names)
        guard let questions else {
            guard let proposed else { throw UsageError("Which name has the profile? Give --name NAME.") }
            return proposed
        }
        while true {
            let text = try await questions.answer(to: "A name for this profile:", usual: proposed?.text)
            guard let name = ProfileName(text) else {
                questions.console.line("Letters, digits, '.', '_' and '-' are possible, the first a letter or digit.")
                continue
            }
            guard names.contains(name) else { return name }
            questions.console.line("There is a profile '\(name)' already.")
        }
    }

    /// Returns the tools that shall get the tokens: those of the options, or else of those that are installed the ones that the
    /// person names.
    private func chosenTools(
        _ profile: Profile,
        _ steps: SetupSteps,
        _ questions: Questions?
    ) async throws -> [IntegratedTool] {
        guard tools.isEmpty else { return try tools.filter { $0 != "none" }.map(IntegratedTool.named) }
        let subjects: IntegratedTool.Subject? =
            profile.own("resource") != nil ? .servers : profile.own("serves") != nil ? .addresses : nil
        let found = IntegratedTool.all.filter { $0.asks == subjects && steps.home.find($0.program) != nil }
        guard let questions, !found.isEmpty else { return [] }
        let names = found.map(\.name).joined(separator: ", ")
        while true {
            let answer = try await questions.answer(
                to: "Which programs shall get its tokens? Here are \(names):",
                usual: "none"
            )
            let words = answer.split { $0 == " " || $0 == "," }.map(String.init)
            if words == ["none"] { return [] }
            do {
                return try words.map(IntegratedTool.named)
            } catch let mistake as UsageError {
                questions.console.line(mistake.message)
            }
        }
    }
}

extension IntegratedTool {
    /// The program whose presence says that the tool is here.
    fileprivate var program: String {
        ["claude-code": "claude", "vscode": "code", "containers": "podman"][name] ?? name
    }
}

/// The commands that a setup runs, each shown before.
struct SetupSteps {
    let home: Home
    private(set) var lines: [String] = []
    private let session: Session

    init(_ session: Session) throws {
        home = try Home(session.environment)
        self.session = session
    }

    /// Runs a command of this program in the terminal. Its variables name no client and no provider, which would stand above the
    /// profile's lines.
    ///
    /// - Parameter secret: The client secret, which no command line shows.
    /// - Throws: `SystemFailure` if it fails; it has said why.
    mutating func run(_ words: [String], secret: String? = nil) async throws {
        let line = Home.line(["identityctl"] + words)
        lines.append(line)
        session.console.line("$ \(line)")
        let withheld = (Setting.ofProvider + Setting.ofRequest).map(\.name).filter {
            !["ca-file", "proxy"].contains($0)
        }
        let variables = CommandEnvironment.variables(
            CText.environment,
            withholding: Set(withheld.map(Variables.variable)),
            setting: secret == nil ? [] : ["IDENTITYCTL_CLIENT_SECRET"],
            to: secret ?? ""
        )
        let program = try Program(([home.program] + words).map { CText($0) }, in: CText(""))
        do {
            guard try await program.runInTerminal(variables) else {
                throw SystemFailure("That came to nothing. When the reason is gone, go on with: \(line)")
            }
        } catch let cancellation as CancellationError {
            session.console.line("To go on, run: \(line)")
            // The command has said that it is cancelled.
            throw session.isJSON ? cancellation as any Error : Ended(status: .cancelled)
        }
    }
}
