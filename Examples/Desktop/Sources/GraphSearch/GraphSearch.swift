// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import DesktopKit
import Foundation
import IdentityClient

/// Searches the people of an organisation.
@main
struct GraphSearch: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "GraphSearch",
        abstract: "Searches the people of an organisation.",
        discussion: """
            With no options the cloud is a stand-in on this machine with 500 people: choose any of them on its page.
            The settings file has the keys clientId, authority, redirectUri, graphApiUrlString and apiversion, as JSON or \
            property list; options go before it.
            """
    )

    @OptionGroup var program: ProgramOptions

    @Option(help: ArgumentHelp("The settings file.", valueName: "path"))
    var settings: String?

    @Option(help: ArgumentHelp("A permission to ask for; may be repeated.", valueName: "scope"))
    var scope = ["User.Read", "User.ReadBasic.All"]

    func run() throws {
        let choices = try Choices(self)
        let status = Application.run(id: "io.github.identity.GraphSearch", name: tr("People")) { application in
            SearchWindow(application, choices)
        }
        throw ExitCode(status)
    }
}

/// What the options and the settings file come to.
struct Choices: Sendable {
    let program: ProgramOptions
    let settings: SearchSettings
    let scopes: Set<Scope>

    init(_ command: GraphSearch) throws {
        program = command.program
        scopes = Set(command.scope.map { Scope(rawValue: $0) })
        do {
            let page = command.program.page
            let file = try command.settings.map { try SettingsFile(path: $0) }
            settings = try file.map { try SearchSettings($0, page: page) } ?? SearchSettings()
            _ = try program.registration(else: settings.registration)  // half of one is refused
        } catch let failure as ValidationFailure {
            throw ValidationError(failure.description)
        }
    }
}
