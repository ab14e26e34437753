// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import DesktopKit
import Foundation
import IdentityClient

/// A program that searches the people of an organization.
@main
struct GraphSearch: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "GraphSearch",
        abstract: "Searches the people of an organization.",
        discussion: """
            With no options the cloud is a stand-in on this machine with 500 people: choose any of them on its page.
            The settings file has the keys clientId, authority, redirectUri, graphApiUrlString and apiversion, as JSON or \
            property list; options go before it.
            """
    )

    @OptionGroup var program: ProgramOptions

    @Option(
        help: ArgumentHelp(
            "A settings file; with several, accounts of each can search, and the file's name tells them apart.",
            valueName: "path"
        )
    )
    var settings: [String] = []

    @Option(help: ArgumentHelp("A permission to ask for; may be repeated.", valueName: "scope"))
    var scope = ["User.Read", "User.ReadBasic.All"]

    func run() throws {
        let choices = try Choices(self)
        let status = Application.run(
            id: "io.github.identity.GraphSearch",
            name: tr("People"),
            options: program
        ) { application in
            SearchWindow(application, choices)
        }
        throw ExitCode(status)
    }
}

/// The program's choices, from the options and the settings files.
struct Choices: Sendable {
    /// A type of account: the place to sign in, and the Graph with the people to search.
    struct AccountSource: Sendable {
        var name: AccountType.Name
        var settings: SearchSettings
    }

    let program: ProgramOptions
    let sources: [AccountSource]
    let scopes: Set<Scope>

    init(_ command: GraphSearch) throws {
        program = command.program
        scopes = Set(command.scope.map { Scope(rawValue: $0) })
        do {
            sources = try Self.sources(command)
            // Throws if only half of a registration is named.
            for source in sources { _ = try program.registration(else: source.settings.registration) }
        } catch let failure as ValidationFailure {
            throw ValidationError(failure.description)
        }
    }

    private static func sources(_ command: GraphSearch) throws -> [AccountSource] {
        let program = command.program
        guard !command.settings.isEmpty else { return [AccountSource(name: "graph", settings: try SearchSettings())] }
        let sources = try command.settings.map { path in
            AccountSource(
                name: AccountType.Name(rawValue: URL(filePath: path).deletingPathExtension().lastPathComponent),
                settings: try SearchSettings(try SettingsFile(path: path), page: program.page)
            )
        }
        guard sources.count > 1 else { return sources }
        guard program.clientID == nil, program.authority == nil, program.standIn == nil else {
            throw ValidationFailure("Several settings files exclude --client-id, --authority and --stand-in.")
        }
        for source in sources where source.settings.clientID == nil {
            throw ValidationFailure("\(source.name): clientId is missing. Each of several settings files needs one.")
        }
        guard Set(sources.map(\.name)).count == sources.count else {
            throw ValidationFailure(
                "Two settings files have one name. Rename one: the name tells their accounts apart."
            )
        }
        return sources
    }
}
