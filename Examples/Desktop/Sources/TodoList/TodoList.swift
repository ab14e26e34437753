// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import DesktopKit
import Foundation
import IdentityClient
import StandIn
import TodoListModel

/// The program with a to-do list on Azure AD B2C.
@main
struct TodoList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "TodoList",
        abstract: "A to-do list for each person, on Azure AD B2C.",
        discussion: """
            With no options the cloud is a stand-in on this machine: choose any person on its page. The stand-in ends with \
            the program, so the tokens are kept in memory only, unless you choose --cache file.
            """
    )

    @OptionGroup var program: ProgramOptions

    @Option(
        help: ArgumentHelp("A settings file with the keys of settings.plist, property list or JSON.", valueName: "path")
    )
    var settings: String?

    @Option(help: ArgumentHelp("The root of the API with the tasks; goes with --client-id.", valueName: "url"))
    var taskAPI: String?

    @Option(help: ArgumentHelp("The policy that edits profiles; goes with --client-id.", valueName: "name"))
    var editProfilePolicy: String?

    @Option(help: ArgumentHelp("The policy that resets passwords; goes with --client-id.", valueName: "name"))
    var resetPasswordPolicy: String?

    func validate() throws {
        _ = try Choices(self)
    }

    func run() throws {
        let choices = try Choices(self)
        let status = Application.run(
            id: "io.github.identity.TodoList",
            name: tr("To-Do List"),
            options: program
        ) { application in
            TodoWindow(application, choices)
        }
        throw ExitCode(status)
    }
}

/// The program's choices, from the options and the settings file.
struct Choices: Sendable {
    enum Cloud: Sendable {
        case real(TodoSettings)
        case standIn(URL)
        case ownStandIn
    }

    let program: ProgramOptions
    let cloud: Cloud

    init(_ command: TodoList) throws {
        program = command.program
        do {
            cloud = try Self.cloud(command)
        } catch let error as SettingsError {
            throw ValidationError(error.description)
        }
    }

    private static func cloud(_ command: TodoList) throws -> Cloud {
        let program = command.program
        _ = try program.registration()  // half of one is refused
        guard [command.settings, program.clientID, program.standIn].compactMap({ $0 }).count <= 1 else {
            throw ValidationError("--settings, --client-id and --stand-in exclude each other.")
        }
        if let path = command.settings {
            let settings = try TodoSettings(contentsOf: URL(filePath: path)) {
                try RedirectURI.receivable($0, page: program.page)
            }
            return .real(settings)
        }
        if let clientID = program.clientID, let authority = program.authority {
            guard let api = command.taskAPI else { throw ValidationError("--client-id needs --task-api too.") }
            let signIn = try B2CPolicy(url: authority)
            var settings = TodoSettings(
                clientID: ClientID(rawValue: clientID),
                signIn: signIn,
                taskAPI: try TodoSettings.address(api, "--task-api")
            )
            settings.editProfile = try command.editProfilePolicy.map(signIn.policy)
            settings.resetPassword = try command.resetPasswordPolicy.map(signIn.policy)
            return .real(settings)
        }
        guard let root = program.standIn else { return .ownStandIn }
        return .standIn(try TodoSettings.address(root, "--stand-in"))
    }

    /// Returns the token cache.
    func tokenCache(_ settings: TodoSettings, _ use: CacheUse) -> any TokenCache {
        let isOwn = if case .ownStandIn = cloud { true } else { false }
        let name = "\(tr("To-Do List")) (\(settings.accountIdentifier))"
        return program.tokenCache(applicationName: name, use, cloudEndsWithProgram: isOwn)
    }
}
