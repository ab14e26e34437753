// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityClient

/// Options for a token in a file.
struct TokenFileOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A file for the token, in place of standard output. Only its owner can read it.",
            discussion:
                "Mode 0600; an older file is replaced as a whole. A directory, a link, a device or another user's "
                + "file is refused. With --json only errors are JSON.",
            valueName: "file"
        ),
        completion: .file()
    )
    var output: String?

    @Flag(
        help: ArgumentHelp(
            "Renew the token in the file before it ends, until a signal, and then remove the file.",
            discussion: "Status 0 after a signal. See 'man identityctl-guide', Use a token in a script."
        )
    )
    var watch = false
}

extension TokenFileOptions {
    /// - Throws: `UsageError` for `--watch` alone.
    var isGiven: Bool {
        get throws {
            guard output != nil || !watch else {
                throw UsageError("--watch: no file is named. Give --output FILE.")
            }
            return output != nil
        }
    }

    /// - Throws: `UsageError` for a name that is none of a file.
    fileprivate func path() throws -> String {
        guard let output, !output.isEmpty, output != "-" else {
            throw UsageError("--output: name a file. Without the option, standard output gets the token.")
        }
        return output
    }
}

extension TokenCommand {
    /// Writes the token into a file, and keeps it fresh if that is wanted.
    func write(in session: Session) async throws {
        let file = TokenFile(try self.file.path(), isLocked: self.file.watch)
        let source = try TokenSource(provider, token, account, silent, for: "token", in: session)
        guard self.file.watch else {
            try file.check()
            return try file.write(try await source.token().text)
        }
        guard try !session.environment.isOn("cache-only", silent.cacheOnly) else {
            throw UsageError("--cache-only: a token that is kept fresh is renewed. Leave out --watch.")
        }
        source.hideMemory()
        var isReady = false
        let manager = session.environment["NOTIFY_SOCKET"]
        let keeper = TokenKeeper(file: file, source: source, endsOnLastingErrors: true, console: session.console) {
            sentence(on: $0, in: session)
        }
        do {
            try await keeper.run { token in
                isReady = true
                let path = file.path.printable
                session.console.line(
                    "The token is in \(path), and is renewed. A signal ends this, and removes the file."
                )
                ServiceNotification.send("READY=1", to: manager)
            }
        } catch  where isReady && Task.isCancelled {
            // A signal ends the watch in good order.
        }
        ServiceNotification.send("STOPPING=1", to: manager)
    }
}
