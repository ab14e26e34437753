// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import IdentityClient
import OAuthWire

/// The commands for profiles.
struct ProfileCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "profile",
        abstract: "Keeps options under a name, for --profile.",
        discussion: """
            A profile is a file in identityctl/profiles of $XDG_CONFIG_HOME (~/.config), with a line 'name = value' for each \
            option. The command line and the environment win over it. Profiles of the whole machine are in \
            /etc/identityctl/profiles; a person's own with the same name stands above.
            """,
        subcommands: [
            ProfileAddCommand.self, ProfileListCommand.self, ProfileShowCommand.self, ProfileSetCommand.self,
            ProfileUnsetCommand.self, ProfileEditCommand.self, ProfileRemoveCommand.self, ProfileDefaultCommand.self,
            ProfilePresetsCommand.self,
        ]
    )
}

/// The command that makes a profile.
struct ProfileAddCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Makes a profile of the options that are given.",
        discussion: """
            --preset fills in what is known of a provider, and says what to register there; 'identityctl profile presets' \
            lists them. --serves names the addresses whose helpers use the profile. Other options are added by \
            --set name=value, and the client secret by its variable, IDENTITYCTL_CLIENT_SECRET.
            """
    )

    @OptionGroup var profile: ProfileArgument
    @OptionGroup var provider: ProviderOptions
    @OptionGroup var token: TokenOptions
    @OptionGroup var account: AccountOption
    @OptionGroup var output: OutputOptions

    @Option(
        help: ArgumentHelp("Fill in the options of this provider.", valueName: "name"),
        completion: .list(Preset.names)
    )
    var preset: String?

    @Option(help: ArgumentHelp("The host, tenant or realm that a preset needs.", valueName: "host"))
    var domain: String?

    @Option(
        help: ArgumentHelp("An address that gets the profile's tokens from helpers. Repeatable.", valueName: "url")
    )
    var serves: [String] = []

    @Option(
        name: .customLong("set"),
        help: ArgumentHelp(
            "One more line, such as redirect-uri=http://localhost:8400. Repeatable.",
            valueName: "name=value"
        )
    )
    var settings: [String] = []

    @Flag(help: "Replace a profile of this name.")
    var replace = false

    func run(in session: Session) async throws {
        let name = try profile.profile()
        let directory = try ProfileDirectory(session.environment)
        var lines: [(name: String, value: String)] = []
        var preset: Preset?
        if let wanted = self.preset {
            let found = try Preset.named(wanted)
            lines += try found.lines(domain: domain)
            preset = found
        } else if domain != nil {
            throw UsageError("--domain goes with --preset.")
        }
        let groups = OptionGroups(provider: provider, token: token, account: account)
        var own = (Setting.ofProvider + Setting.ofRequest).filter(\.isLine).flatMap { setting in
            groups.values(of: setting).map { (name: setting.name, value: setting.kind == .switch ? "on" : $0) }
        }
        own += serves.map { ("serves", $0) }
        for setting in settings {
            own.append(try ProfileChange.assignment(setting))
        }
        if let secret = try session.environment.given("client-secret", nil) {
            guard !secret.text.utf8.hasControls else { throw UsageError("A secret has no control characters.") }
            own.append(("client-secret", secret.text))
        }
        // The options given here replace the preset's.
        lines.removeAll { line in own.contains { $0.name == line.name } }
        lines += own
        let text = lines.map { "\($0.name) = \($0.value)\n" }.joined()
        let made = try Profile(name, path: directory.path(of: name), parsing: Array(text.utf8))
        if let preset, made.given("client-id") == nil {
            throw UsageError("Register a client, and give its --client-id. \(preset.advice)")
        }
        try ProfileCheck.check(made, session.environment)
        try directory.checkServedAddresses(of: made)
        try directory.write(text, as: name, replaces: replace)
        if !replace { directory.forgetAccount(of: name) }
        if let preset { session.console.line(preset.advice) }
        try session.done("Made \(directory.path(of: name)). To sign in: identityctl login --profile \(name)")
    }
}

/// The command that lists the profiles.
struct ProfileListCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists the profiles: name, provider, client id, which is the default one, and whose each is.",
        discussion: """
            A profile is your own, one of the machine, or your copy of one of the machine, which stands above it and does not \
            follow its changes.
            """
    )

    @OptionGroup var output: OutputOptions

    func run(in session: Session) async throws {
        let directory = try ProfileDirectory(session.environment)
        let chosen = try directory.defaultName()
        var rows: [JSONObject] = []
        var text = ""
        for name in try directory.names() {
            do {
                let profile = try directory.profile(named: name)
                let provider =
                    ["authority", "issuer", "token-endpoint"].compactMap { profile.given($0)?.text }.first ?? ""
                let client = profile.given("client-id")?.text ?? ""
                let isDefault = name == chosen
                rows.append(
                    JSONObject([
                        ("name", .string(name.text)), ("provider", .string(provider)), ("clientID", .string(client)),
                        ("isDefault", .bool(isDefault)), ("owner", .string(directory.owner(of: name).rawValue)),
                    ])
                )
                let marks = [isDefault ? "default" : nil, directory.owner(of: name).words].compactMap(\.self)
                let columns = [name.text, provider.printable, client.printable] + marks
                text += columns.joined(separator: "\t") + "\n"
            } catch {
                session.console.line("Warning: \(error)")
            }
        }
        try session.result(session.isJSON ? rows.line + "\n" : text)
    }
}

/// The command that shows a profile.
struct ProfileShowCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Prints a profile's lines, without its client secret."
    )

    @OptionGroup var profile: ProfileArgument
    @OptionGroup var output: OutputOptions

    @Flag(help: "Print the path of the file in place of its lines.")
    var path = false

    func run(in session: Session) async throws {
        let directory = try ProfileDirectory(session.environment)
        let profile = try directory.profile(named: try profile.profile())
        if path {
            let report = JSONObject([("path", .string(profile.path))])
            return try session.result((session.isJSON ? report.line : profile.path) + "\n")
        }
        let account = profile.account.map { "# account of the first sign-in: \($0.label)\n" } ?? ""
        let lines = profile.lines.map { line in
            (line.name, line.name == "client-secret" ? "(hidden)" : line.value)
        }
        guard session.isJSON else {
            return try session.result(lines.map { "\($0) = \($1.printable)\n" }.joined() + account)
        }
        var report = JSONObject([])
        for name in lines.map(\.0) where report[name] == nil {
            let values = lines.filter { $0.0 == name }.map(\.1)
            report[name] = Profile.lists.contains(name) ? .array(values.map { .string($0) }) : .string(values[0])
        }
        try session.result(report.line + "\n")
    }
}

/// The command that removes a profile.
struct ProfileRemoveCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Removes a profile. Its tokens stay; 'identityctl logout --profile NAME' before removes them."
    )

    @OptionGroup var profile: ProfileArgument
    @OptionGroup var output: OutputOptions

    func run(in session: Session) async throws {
        let name = try profile.profile()
        let directory = try ProfileDirectory(session.environment)
        try directory.remove(name)
        try session.done(
            directory.isOfMachine(name)
                ? "Removed your copy of the profile '\(name)'. The machine's counts again: \(directory.sharedPath(of: name))"
                : "Removed the profile '\(name)'. Its tokens stay until they are signed out."
        )
    }
}

/// The command that chooses the default profile.
struct ProfileDefaultCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "default",
        abstract: "Prints the default profile, or makes a profile the default one.",
        discussion: "The default profile counts if no option and no variable names a client or a provider."
    )

    @Argument(help: ArgumentHelp("The new default profile.", valueName: "name"), completion: ProfileArgument.completion)
    var name: String?

    @Flag(help: "Have no default profile.")
    var unset = false

    @OptionGroup var output: OutputOptions

    func run(in session: Session) async throws {
        let directory = try ProfileDirectory(session.environment)
        guard name == nil || !unset else { throw UsageError("Give a name or --unset, not both.") }
        if unset {
            try directory.setDefault(nil)
            return try session.done("There is no default profile.")
        }
        guard let name else {
            let name = try directory.defaultName()?.text
            let report = JSONObject([("default", name.map { .string($0) } ?? .null)])
            return try session.result((session.isJSON ? report.line : name ?? "none") + "\n")
        }
        let chosen = try ProfileName(Given(text: name, origin: "NAME"))
        try directory.setDefault(chosen)
        try session.done("The profile '\(chosen)' is the default one.")
    }
}

/// The command that lists the presets.
struct ProfilePresetsCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "presets",
        abstract: "Lists the presets, with what to register at each provider."
    )

    @OptionGroup var output: OutputOptions

    func run(in session: Session) async throws {
        guard session.isJSON else {
            return try session.result(Preset.all.map { "\($0.name)\t\($0.title)\t\($0.registration)\n" }.joined())
        }
        let rows = Preset.all.map { preset in
            JSONObject([
                ("name", .string(preset.name)), ("title", .string(preset.title)),
                ("registration", .string(preset.registration)), ("needsDomain", .bool(preset.needsDomain)),
            ])
        }
        try session.result(rows.line + "\n")
    }
}
