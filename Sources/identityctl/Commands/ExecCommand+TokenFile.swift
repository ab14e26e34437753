// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient

// Running a command with a file that is kept fresh.
extension ExecCommand {
    /// Makes a file with the token that a companion keeps fresh until this process ends, whatever it becomes.
    ///
    /// - Returns: The path of the file.
    func freshFile(in session: Session) async throws -> String {
        let directory = try Self.makeDirectory(session.environment)
        do {
            let options = CommandLine.arguments.dropFirst(2).dropLast(command.count + 1)
            try await Companion.start(["identityctl", "exec"] + options + ["--companion", directory])
        } catch {
            // The companion may still be at work, and then removes it itself.
            unsafe rmdir(directory)
            throw error
        }
        return "\(directory)/token"
    }

    /// Is the companion, or starts it.
    ///
    /// - Parameter directory: That of the file, which ends with the companion.
    func accompany(in directory: String, session: Session) async throws {
        guard isDetached else {
            return try Companion.detach(CommandLine.arguments + ["--detached"])
        }
        defer { unsafe rmdir(directory) }
        let source = try TokenSource(provider, token, account, silent, for: "exec", in: session)
        let keeper = TokenKeeper(
            file: TokenFile("\(directory)/token"),
            source: source,
            endsOnLastingErrors: false,
            console: session.console
        ) {
            sentence(on: $0, in: session)
        }
        try await Companion.run { ready in
            try await keeper.run { _ in
                session.console.share()
                ready()
            }
        }
    }

    /// Makes a directory for this user alone, in memory where the system has a place for that.
    private static func makeDirectory(_ environment: Environment) throws -> String {
        let places = [environment["XDG_RUNTIME_DIR"], environment["TMPDIR"], "/tmp"]
        for place in places.compactMap({ $0 }) where place.hasPrefix("/") {
            var template = CText("\(place)/identityctl-XXXXXX")
            guard unsafe mkdtemp(&template) != nil else { continue }
            return String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
        throw SystemFailure("No directory for the token's file could be made in XDG_RUNTIME_DIR or /tmp", number: errno)
    }
}
