// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

extension TokenCommand {
    /// Writes the token into a file, and keeps it fresh if that is wanted.
    func write(in session: Session) async throws {
        let file = TokenFile(try self.file.path(), isLocked: self.file.watch)
        let wanted = try WantedToken(token, account, silent, session.environment)
        let source = try session.source(provider, for: "token", reuses: true)
        guard self.file.watch else {
            try file.check()
            return try file.write(try await session.firstToken(wanted, source).text)
        }
        guard try !session.environment.isOn("cache-only", silent.cacheOnly) else {
            throw UsageError("--cache-only: a token that is kept fresh is renewed. Leave out --watch.")
        }
        session.hideMemory()
        var isReady = false
        let manager = session.environment["NOTIFY_SOCKET"]
        let keeper = TokenKeeper(file, wanted, source, endsOnLastingErrors: true, in: session) {
            sentence(on: $0, in: session)
        }
        do {
            try await keeper.run { token in
                await session.warn(ofFirst: token, wanted)
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
