// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import OAuthWire

/// One step that sets a tool up, or undoes that.
enum Change: Hashable, Sendable {
    /// Makes a symbolic link, in place of another one.
    case link(String, to: String)
    case unlink(String)
    /// Runs the tool's own command.
    case run([String])
    /// Writes a file anew, of which the text says what changes.
    case write(ConfigFile, [UInt8], String)
    /// Removes a file in which a tool's own command has left nothing.
    case removeIfEmpty(String)

    /// A description for the person, shown before the step is made.
    var text: String {
        switch self {
        case .link(let path, let target): "Link \(path.printable) to \(target.printable)"
        case .unlink(let path): "Remove the link \(path.printable)"
        case .run(let words): "Run: \(Home.line(words))"
        case .write(let file, _, let summary): "In \(file.path.printable): \(summary)"
        case .removeIfEmpty(let path): "Remove \(path.printable) if nothing is left in it"
        }
    }

    /// - Throws: As `Home.run(_:accepting:)` and `ConfigFile.replace(with:)`.
    func perform(in home: Home) async throws {
        switch self {
        case .link(let path, let target): try Self.link(path, to: target, home)
        case .unlink(let path):
            guard unsafe Glibc.unlink(path) == 0 || errno == ENOENT else {
                throw SystemFailure("\(path.printable) cannot be removed", number: errno)
            }
            home.removeEmptyDirectories(from: path)
        case .run(let words):
            do {
                try await home.run(words)
            } catch let failure as SystemFailure {
                throw SystemFailure("\(failure) (To do it by hand, see: man identityctl-integrations)")
            }
        case .write(let file, let bytes, _):
            try file.replace(with: bytes)
            if bytes.isEmpty { home.removeEmptyDirectories(from: file.path) }
        case .removeIfEmpty(let path):
            let file = try ConfigFile(path)
            guard file.bytes?.allSatisfy({ [0x20, 0x09, 0x0A, 0x0D].contains($0) }) == true else { return }
            try file.replace(with: [])
            home.removeEmptyDirectories(from: path)
        }
    }

    /// Makes the link beside its place first, so that the name is there all the time.
    private static func link(_ path: String, to target: String, _ home: Home) throws {
        try PlainFile.refuseForeignHome(of: path)
        do {
            try FileManager.default.createDirectory(atPath: home.programs, withIntermediateDirectories: true)
        } catch {
            throw SystemFailure("\(home.programs.printable) cannot be made: check the owner and mode of your home.")
        }
        let beside = "\(path).\(getpid()).new"
        _ = unsafe Glibc.unlink(beside)
        guard unsafe symlink(target, beside) == 0, unsafe rename(beside, path) == 0 else {
            let number = errno
            _ = unsafe Glibc.unlink(beside)
            throw SystemFailure("\(path.printable) cannot be made", number: number)
        }
    }
}

/// The steps that set a tool up, or undo that, and what a person should know.
struct IntegrationPlan: Sendable {
    var changes: [Change]
    var notes: [String] = []
    /// The sentences for a tool that a person has to set up by hand.
    var advice: [String] = []
    /// The lines that a person then writes into the tool's file.
    var lines: [String] = []

    /// The plan as the members of a result.
    var report: JSONObject {
        JSONObject([
            ("changes", .strings(changes.map(\.text))), ("notes", .strings(notes)), ("advice", .strings(advice)),
            ("lines", .strings(lines)),
        ])
    }
}
