// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc

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
        let path = directory.path(of: name)
        guard let before = try directory.bytes(at: path) else {
            throw UsageError("There is no profile '\(name)'. 'identityctl profile add' makes one.")
        }
        guard isatty(STDIN_FILENO) == 1, StandardStream.output.isTerminal else {
            throw UsageError("An editor needs a terminal. The file is \(path.printable).")
        }
        let draft = directory.draftPath(of: name)
        if try directory.bytes(at: draft) == nil {
            try directory.writeDraft(before, of: name)
        } else {
            session.console.line("This is the text of an earlier edit. Remove \(draft.printable) to begin anew.")
        }
        let hint = "The profile is unchanged; 'identityctl profile edit \(name)' opens your text again."
        let editor = session.environment["VISUAL"] ?? session.environment["EDITOR"] ?? "editor"
        let isDone = try await Self.edit(draft, in: editor)
        guard let after = try directory.bytes(at: draft), after != before else {
            unsafe unlink(draft)
            return session.console.line("The profile '\(name)' is unchanged.")
        }
        guard isDone else { throw UsageError("The editor '\(editor.printable)' failed. \(hint)") }
        do {
            try Profile(name, path: draft, parsing: after).check(session.environment)
        } catch let mistake as UsageError {
            throw UsageError("\(mistake.message) \(hint)")
        }
        guard try directory.bytes(at: path) == before else {
            throw UsageError("The profile '\(name)' was changed by another program meanwhile. \(hint)")
        }
        try directory.write(String(decoding: after, as: UTF8.self), as: name, replaces: true)
        unsafe unlink(draft)
        session.console.line("Changed the profile '\(name)'.")
    }

    /// Runs the editor, a program's name with options, in this terminal until the person closes it.
    ///
    /// - Returns: Whether the editor succeeded.
    private static func edit(_ path: String, in editor: String) async throws -> Bool {
        let process = try start(editor.split(separator: " ").map(String.init) + [path])
        var status: Int32 = 0
        while unsafe waitpid(process, &status, WNOHANG) == 0 {
            do {
                try await Task.sleep(for: .milliseconds(30))
            } catch {
                kill(process, SIGTERM)
                throw error
            }
        }
        return status == 0
    }

    /// Starts a program with this program's descriptors, with the usual effect of signals, and without the variables
    /// that hold secrets.
    private static func start(_ words: [String]) throws -> pid_t {
        let variables = ProcessInfo.processInfo.environment.filter { !ProviderOptions.secretVariables.contains($0.key) }
        let arguments = unsafe words.map { unsafe strdup($0) } + [nil]
        let environment = unsafe variables.map { unsafe strdup("\($0.key)=\($0.value)") } + [nil]
        defer { unsafe (arguments + environment).forEach { unsafe free($0) } }
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { _ = unsafe posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe posix_spawnattr_setsigmask(&attributes, &signals)
        unsafe sigfillset(&signals)
        unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var process: pid_t = 0
        let failure = unsafe posix_spawnp(&process, words[0], nil, &attributes, arguments, environment)
        guard failure == 0 else {
            throw SystemFailure("The editor '\(words[0].printable)' cannot be started. Set EDITOR", number: failure)
        }
        return process
    }
}
