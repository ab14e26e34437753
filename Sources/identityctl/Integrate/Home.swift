// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityClient
import SystemSupport

/// The programs and places of a person, whose tools are set up.
struct Home: Sendable {
    let environment: Variables
    /// The home directory.
    let path: String
    /// The file of this program.
    let program: String

    /// The directory of a person's configuration: `$XDG_CONFIG_HOME` if that is absolute, otherwise `~/.config`.
    let configuration: String

    /// - Throws: `UsageError` without a home directory, or if its name is no UTF-8.
    init(_ environment: Variables) throws {
        guard let path = try environment.path("HOME") else {
            throw UsageError("There is no home directory: set HOME.")
        }
        self.environment = environment
        configuration = try environment.path("XDG_CONFIG_HOME") ?? "\(path)/.config"
        self.path = path
        program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    }

    /// The directory of a person's own programs.
    /// - SeeAlso: [Base directories](https://specifications.freedesktop.org/basedir-spec/latest/), "user-specific executables"
    var programs: String { "\(path)/.local/bin" }

    /// The file to which links lead: that found in `PATH`, if it is this program, because its name stays when another version
    /// takes its place; otherwise this program's own.
    var linked: String { find("identityctl").flatMap { isThisProgram($0) ? $0 : nil } ?? program }

    /// The word by which other tools start this program: its name if `PATH` leads to it, otherwise its file.
    var command: String { find("identityctl").map(isThisProgram) == true ? "identityctl" : program }

    /// The absolute directories of `PATH`, without a slash at their end.
    var searched: [String] {
        (environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":").filter { $0.hasPrefix("/") }
            .map { $0.count > 1 && $0.hasSuffix("/") ? String($0.dropLast()) : String($0) }
    }

    /// Returns the program that a tool finds under `name`.
    func find(_ name: String) -> String? {
        searched.map { "\($0)/\(name)" }.first { Self.isProgram($0) }
    }

    /// Whether a file, or what a link there leads to, is this program.
    func isThisProgram(_ path: String) -> Bool {
        guard let own = Self.status(of: "/proc/self/exe"), let other = Self.status(of: path) else { return false }
        return own.st_dev == other.st_dev && own.st_ino == other.st_ino
    }

    /// Returns why a tool cannot start this program by the word in its configuration, a path or a name that is in `PATH`; `nil` if
    /// it can. A sentence.
    func obstacle(toStarting word: String) -> String? {
        guard word.contains("/") else {
            return find(word) == nil ? "There is no '\(word.printable)' in PATH." : nil
        }
        guard !Self.isProgram(word) else { return nil }
        let isThere = Self.status(of: word) != nil
        return isThere ? "\(word.printable) cannot be executed." : "There is no program \(word.printable)."
    }

    /// Removes the directories above a removed file as far as nothing is left in them, below the home directory.
    func removeEmptyDirectories(from file: String) {
        var directory = file
        while let end = directory.utf8.lastIndex(of: UInt8(ascii: "/")) {
            directory = String(directory[..<end])
            guard directory.hasPrefix("\(path)/"), unsafe rmdir(directory) == 0 else { return }
        }
    }

    /// Runs a program to its end, without a shell.
    ///
    /// - Parameter statuses: The exit statuses that are no failure.
    /// - Returns: The bytes of its standard output.
    /// - Throws: `CommandFailure` if it is not installed or not started; `SystemFailure` if it fails; `CancellationError`.
    @discardableResult
    func run(_ words: [String], accepting statuses: Set<Int32> = [0]) async throws -> [UInt8] {
        let directories = CText(searched.joined(separator: ":"))
        let variables = CommandEnvironment.variables(
            CText.environment,
            withholding: Variables.secrets,
            setting: [],
            to: ""
        )
        let outcome = try await Program(words.map { CText($0) }, in: directories).run(variables)
        guard statuses.contains(outcome.status) else {
            let reason = outcome.firstError ?? "its status is \(outcome.status)"
            throw SystemFailure("'\(Self.line(words))' failed: \(reason)")
        }
        return outcome.output
    }

    /// Returns the words as a person types them in a shell.
    static func line(_ words: [String]) -> String { words.map(\.printable.shellWord).joined(separator: " ") }

    private static func isProgram(_ path: String) -> Bool {
        guard status(of: path) != nil else { return false }
        return unsafe access(path, X_OK) == 0
    }

    /// Returns the status of a regular file; `nil` if there is none.
    private static func status(of path: String) -> stat? {
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return status
    }
}
