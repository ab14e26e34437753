// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import DesktopKit
import Foundation
import IdentityClient

/// A program that signs in, calls Microsoft Graph and signs out.
@main
struct QuickStart: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "QuickStart",
        abstract: "Signs in, calls Microsoft Graph, signs out.",
        discussion: "With no options the cloud is a stand-in on this machine: choose any person on its page."
    )

    @OptionGroup var program: ProgramOptions

    @Option(help: ArgumentHelp("Graph's root with its version.", valueName: "url"))
    var graphURL = "https://graph.microsoft.com/v1.0"

    @Option(help: ArgumentHelp("A permission to ask for; may be repeated.", valueName: "scope"))
    var scope = ["User.Read"]

    @Option(help: ArgumentHelp("A settings file with sharedDeviceMode, JSON or property list.", valueName: "path"))
    var settings: String?

    func run() throws {
        let choices = try Choices(self)
        let status = Application.run(
            id: "io.github.identity.QuickStart",
            name: tr("Quick Start"),
            options: program
        ) { application in
            QuickStartWindow(application, choices)
        }
        throw ExitCode(status)
    }
}

/// The choices of the command line and the settings file.
struct Choices: Sendable {
    let program: ProgramOptions
    let graphURL: URL
    let scopes: Set<Scope>
    let isSharedDevice: Bool

    init(_ command: QuickStart) throws {
        program = command.program
        _ = try program.registration()  // half of one is refused
        guard let url = URL(string: command.graphURL), url.host != nil else {
            throw ValidationError("--graph-url is not an address: \(command.graphURL)")
        }
        graphURL = url
        scopes = Set(command.scope.map { Scope(rawValue: $0) })
        do {
            isSharedDevice = try command.settings.map { try SettingsFile(path: $0) }?.flag("sharedDeviceMode") ?? false
        } catch let failure as ValidationFailure {
            throw ValidationError(failure.description)
        }
    }
}
