// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import OAuthWire
import SystemSupport

/// The desktop entry that makes this program the handler of a scheme.
///
/// - SeeAlso: [Desktop Entry Specification](https://specifications.freedesktop.org/desktop-entry-spec/latest/),
///   [MIME Applications](https://specifications.freedesktop.org/mime-apps-spec/latest/)
struct SchemeRegistration {
    /// The directories in which a user's desktop looks.
    struct Directories: Hashable, Sendable {
        let applications: String
        let config: String

        init(_ environment: Variables) throws {
            func place(_ variable: String, _ below: String) throws -> String {
                if let path = try environment.path(variable) { return path }
                guard let home = try environment.path("HOME") else {
                    throw UsageError("There is no home directory: set HOME.")
                }
                return "\(home)/\(below)"
            }
            applications = try place("XDG_DATA_HOME", ".local/share") + "/applications"
            config = try place("XDG_CONFIG_HOME", ".config")
        }
    }

    let scheme: CustomScheme
    let directories: Directories

    private static let prefix = "identityctl-redirect-"
    private static let suffix = ".desktop"
    private static let execute = "Exec="

    private var fileName: String { "\(Self.prefix)\(scheme)\(Self.suffix)" }
    private var path: String { "\(directories.applications)/\(fileName)" }
    private var type: String { "x-scheme-handler/\(scheme)" }

    /// Returns the entries that are installed.
    static func all(in directories: Directories) -> [SchemeRegistration] {
        // Perhaps there is no such directory.
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directories.applications)) ?? []
        return names.sorted().filter { $0.hasPrefix(prefix) && $0.hasSuffix(suffix) }.compactMap { name in
            let scheme = String(name.dropFirst(prefix.count).dropLast(suffix.count))
            return (try? CustomScheme(scheme)).map { SchemeRegistration(scheme: $0, directories: directories) }
        }
    }

    /// Returns the program that the entry starts, as the entry spells it; `nil` if the entry has another form.
    ///
    /// - Throws: `UsageError` or `SystemFailure` if it cannot be read.
    func program() throws -> String? {
        let text = String(decoding: try ConfigFile(path).bytes ?? [], as: UTF8.self)
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix(Self.execute) }) else { return nil }
        let end = line.firstRange(of: " deliver-redirect")?.lowerBound
        return end.map { String(line[..<$0].dropFirst(Self.execute.count)) }
    }

    /// Whether the entry is installed.
    var isInstalled: Bool { FileManager.default.fileExists(atPath: path) }

    /// Writes the entry, and makes it the default for its scheme.
    ///
    /// - Returns: Whether the desktop's own tool has chosen it.
    func install() async throws -> Bool {
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let text = try Self.entry(scheme, program: program)
        try PlainFile.write(Array(text.utf8), to: path, mode: 0o644)
        _ = try await SystemTool.run("update-desktop-database", [directories.applications])
        return try await SystemTool.run("xdg-mime", ["default", fileName, type]) == true
    }

    /// Removes the entry, and the choice of it.
    ///
    /// - Returns: Whether the entry existed.
    func remove() async throws -> Bool {
        let wasThere = isInstalled
        if wasThere {
            do {
                try FileManager.default.removeItem(atPath: path)
            } catch {
                throw SystemFailure("\(path) cannot be removed: check the directory's owner and mode.")
            }
        }
        try forgetChoice("\(directories.config)/mimeapps.list")
        try forgetChoice("\(directories.applications)/mimeapps.list")
        _ = try await SystemTool.run("update-desktop-database", [directories.applications])
        return wasThere
    }

    /// Removes the lines that name the entry from the user's list of choices. The desktop has no tool for that.
    private func forgetChoice(_ list: String) throws {
        let file = try ConfigFile(list)
        guard let bytes = file.bytes else { return }
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let choices = ["", ";"].map { Array("\(type)=\(fileName)\($0)".utf8)[...] }
        let kept = lines.filter { !choices.contains($0) }
        guard kept.count < lines.count else { return }
        try file.replace(with: Array(kept.joined(separator: [UInt8(ascii: "\n")])))
    }

    /// Returns the entry's text.
    ///
    /// - Throws: `UsageError` if no entry can name the program's path.
    static func entry(_ scheme: CustomScheme, program: String) throws -> String {
        """
        [Desktop Entry]
        Type=Application
        Name=Sign-in (\(scheme))
        Comment=Hands the browser's way back to the program that waits for it
        \(execute)\(try quoted(program)) deliver-redirect %u
        MimeType=x-scheme-handler/\(scheme);
        NoDisplay=true
        StartupNotify=false
        Terminal=false

        """
    }

    /// Returns a program's path as an entry spells it: unquoted if possible, because every reader understands that.
    static func quoted(_ program: String) throws -> String {
        guard program.hasPrefix("/"), !program.utf8.hasControls else {
            throw UsageError("This program lies where a desktop entry cannot name it: \(program.printable)")
        }
        guard !program.utf8.areAlphanumeric(or: "/._-+") else { return program }
        // Escaped for the argument, and once more for the value. By scalars: a sign and a combining accent are one
        // `Character`, but a desktop sees the sign.
        let argument = program.unicodeScalars.map { scalar in
            switch scalar {
            case "\"", "`", "$", "\\": "\\\(scalar)"
            case "%": "%%"
            default: String(scalar)
            }
        }.joined()
        return #"""# + argument.unicodeScalars.map { $0 == "\\" ? #"\\"# : String($0) }.joined() + #"""#
    }
}

/// A program of the desktop that is run to its end, without a shell and without output.
enum SystemTool {
    /// Runs `program`, looked up in the absolute directories of `$PATH`.
    ///
    /// - Returns: Whether the program succeeded within `timeout`; `nil` if it is not installed.
    /// - Throws: `CancellationError`; the program then goes on.
    static func run(
        _ program: String,
        _ arguments: [String],
        timeout: Duration = .seconds(10)
    ) async throws -> Bool? {
        let environment = LaunchEnvironment.current
        guard let executable = environment.executable(program) else { return nil }
        let outcome = try await DetachedProcess.run(
            executable,
            arguments: [program] + arguments,
            environment: environment.variables,
            timeout: timeout
        )
        return outcome == .exited(status: 0)
    }
}
