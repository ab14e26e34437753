// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient

// Running a command with a file that is kept fresh.
extension ExecCommand {
    /// Makes a file with the token that a companion keeps fresh until this process ends, whatever it becomes.
    ///
    /// - Returns: The path of the file.
    func freshFile(in session: Session) async throws -> String { "\(try await startCompanion(in: session))/token" }

    /// Starts the companion, and waits until it is ready.
    ///
    /// - Returns: The path of its directory.
    func startCompanion(in session: Session) async throws -> String {
        let directory = try CompanionDirectory.make(session.environment)
        do {
            let options = InheritedState.words.dropFirst(2).dropLast(command.count + 1)
            try await Companion.start(["identityctl", "exec"] + options + ["--companion", directory])
        } catch {
            // The companion may still be at work, and then removes it itself.
            unsafe rmdir(directory)
            throw error
        }
        return directory
    }

    /// Is the companion, or starts it.
    ///
    /// - Parameter directory: That of its files, which ends with the companion.
    func accompany(in directory: String, session: Session) async throws {
        guard isDetached else {
            return try Companion.detach(InheritedState.words + ["--detached"])
        }
        defer { CompanionDirectory.remove(directory) }
        if forward != nil { return try await beForwarder(in: directory, session) }
        let wanted = try WantedToken(token, account, silent, session.environment)
        let source = try session.source(provider, for: "exec")
        session.hideMemory()
        let file = TokenFile("\(directory)/token")
        let keeper = TokenKeeper(file, wanted, source, endsOnLastingErrors: false, in: session) {
            sentence(on: $0, in: session)
        }
        try await Companion.run { ready in
            try await keeper.run { token in
                await session.warn(ofFirst: token, wanted)
                session.console.share()
                ready()
            }
        }
    }
}
