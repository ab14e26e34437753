// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import SystemSupport

/// The command that changes a profile in the person's editor.
struct ProfileEditCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "edit",
        abstract: "Opens a profile in $VISUAL or $EDITOR.",
        discussion: """
            The editor gets a copy, which replaces the profile if it has no mistake. Otherwise the profile stays as it is, and \
            the next 'identityctl profile edit' opens the same copy.
            """
    )

    @OptionGroup var profile: ProfileArgument
    @OptionGroup var output: OutputOptions

    func run(in session: Session) async throws {
        let directory = try ProfileDirectory(session.environment)
        let name = try profile.profile()
        let before = try directory.text(of: name)
        // A program that a script names as the editor may need no terminal.
        let named = session.environment["VISUAL"] ?? session.environment["EDITOR"]
        guard named != nil || (isatty(STDIN_FILENO) == 1 && StandardStream.output.isTerminal) else {
            throw UsageError(
                "An editor needs a terminal, unless EDITOR names another. The file is \(directory.path(of: name).printable)."
            )
        }
        let draft = directory.draftPath(of: name)
        if try directory.bytes(at: draft) == nil {
            try directory.writeDraft(before, of: name)
        } else {
            session.console.line("This is the text of an earlier edit. Remove \(draft.printable) to begin anew.")
        }
        let hint = "The profile is unchanged; 'identityctl profile edit \(name)' opens your text again."
        let editor = named ?? "editor"
        let isDone = try await Self.edit(draft, in: editor, session.environment)
        guard let after = try directory.bytes(at: draft), after != before else {
            unsafe unlink(draft)
            return try session.done("The profile '\(name)' is unchanged.")
        }
        guard isDone else { throw UsageError("The editor '\(editor.printable)' failed. \(hint)") }
        do {
            try ProfileCheck.change(
                name,
                from: before,
                to: after,
                namedAs: draft,
                in: directory,
                session.environment
            )
        } catch let mistake as UsageError {
            throw UsageError("\(mistake.message) \(hint)")
        }
        unsafe unlink(draft)
        try session.done("Changed the profile '\(name)'.")
    }

    /// Runs the editor, a program's name with options, in this terminal until the person closes it. It gets none of the
    /// variables that hold secrets.
    ///
    /// - Returns: Whether the editor succeeded.
    private static func edit(_ path: String, in editor: String, _ environment: Variables) async throws -> Bool {
        let words = editor.split(separator: " ").map { CText(String($0)) } + [CText(path)]
        let variables = CommandEnvironment.variables(
            CText.environment,
            withholding: Variables.secrets,
            setting: [],
            to: ""
        )
        do {
            return try await Program(words, in: CText(environment["PATH"] ?? "/usr/bin:/bin")).runInTerminal(variables)
        } catch let failure as CommandFailure {
            throw SystemFailure("\(failure) Set EDITOR to your editor.")
        }
    }
}
