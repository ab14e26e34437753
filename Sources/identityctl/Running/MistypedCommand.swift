// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import SystemSupport

/// Refuses what stands in the place of a command and is none, with what was meant.
enum MistypedCommand {
    /// Words of other programs for commands of this one.
    private static let synonyms = [
        "start": "run", "signin": "login", "sign-in": "login", "signout": "logout", "sign-out": "logout", "ls": "list",
        "rm": "remove", "delete": "remove", "new": "add", "create": "add", "init": "setup", "configure": "setup",
        "whoami": "accounts", "users": "accounts", "check": "doctor", "refresh": "token", "get": "show",
    ]

    /// - Throws: `ValidationError` for a word that is no command, for an option before the command, and for a secret.
    static func check(_ arguments: [String], of root: any ParsableCommand.Type) throws {
        let arguments = Array(arguments.prefix { $0 != "--" })
        if arguments.contains(where: { $0 == "--client-secret" || $0.hasPrefix("--client-secret=") }) {
            throw ValidationError(
                "There is no option for a secret, because other users can read command lines. Set IDENTITYCTL_CLIENT_SECRET; "
                    + "'identityctl profile add' writes it into a profile."
            )
        }
        try checkOrder(arguments, root)
        var (command, names) = (root, [root.configuration.commandName ?? ""])
        for word in arguments {
            let known = command.configuration.subcommands
            guard !known.isEmpty, word.utf8.first != UInt8(ascii: "-"), word != "help" else { return }
            guard let next = known.first(where: { $0.configuration.commandName == word }) else {
                throw error(for: word, in: command, names)
            }
            command = next
            names.append(word)
        }
    }

    /// - Parameter names: The words of the command in which the word is none.
    static func error(for word: String, in command: any ParsableCommand.Type, _ names: [String]) -> ValidationError {
        let known = command.configuration.subcommands.filter { $0.configuration.shouldDisplay }
            .compactMap { $0.configuration.commandName }
        let meant = synonyms[word].flatMap { known.contains($0) ? $0 : nil }
        let hint = meant.map { " Did you mean '\($0)'?" } ?? Suggestion.text(for: word, among: known)
        let place = names.count > 1 ? " of '\(names.joined(separator: " "))'" : ""
        return ValidationError("'\(word.printable)' is not a command\(place).\(hint) 'identityctl help' lists them.")
    }

    /// Refuses an option that belongs to a command and stands before it.
    private static func checkOrder(_ arguments: [String], _ root: any ParsableCommand.Type) throws {
        guard let first = arguments.first, first.hasPrefix("--") else { return }
        let name = String(first.prefix { $0 != "=" })
        let commands = root.configuration.subcommands.compactMap { $0.configuration.commandName }
        guard let index = arguments.firstIndex(where: commands.contains),
            Setting.all.contains(where: { $0.option == name })
        else { return }
        let words = [arguments[index]] + arguments[..<index] + arguments[(index + 1)...]
        throw ValidationError(
            "An option stands after its command: identityctl \(words.map(\.printable.shellWord).joined(separator: " "))"
        )
    }
}
