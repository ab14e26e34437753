// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient

/// Keeps the token in a file good: writes the first one, and a new one before each ends.
struct TokenKeeper: Sendable {
    let file: TokenFile
    let clock: any WallClock
    let console: Console
    /// How long the token in the file stays good at least, as far as the tokens' lifetime allows; `nil` for five minutes,
    /// or the second half of a shorter life.
    let validity: Duration?
    /// The draw that spreads the renewals of many programs, for a token.
    let draw: @Sendable (String) -> Double
    /// Whether an error that does not pass by itself ends the work. Otherwise a person can repair it meanwhile.
    let endsOnLastingErrors: Bool
    /// The first token. Later ones are for the same account.
    let wanted: WantedToken
    let source: any TokenSource
    /// Returns the text of an error for a person.
    let describe: @Sendable (any Error) -> String

    /// Works until the task is cancelled, and removes the file at the end.
    ///
    /// - Parameter ready: Called once the first token is in the file.
    /// - Throws: `CancellationError`; the error of the first token, and of `ready`; later an error that lasts.
    func run(ready: (HandedToken) async throws -> Void) async throws {
        try file.check()
        var token = try await source.token(wanted).checked()
        try Task.checkCancellation()
        defer { file.remove() }
        try file.write(token.text)
        try await ready(token)
        var schedule = self.schedule(of: token)
        var failures = 0
        while true {
            try await clock.sleep(for: schedule.wait(left: token.left(at: clock.now), failures: failures))
            try Task.checkCancellation()
            // Another process that took the file over is left alone.
            try file.checkIsNotKept()
            let isDue = schedule.isDue(left: token.left(at: clock.now))
            do {
                let next = try await self.next(after: token, isDue ? schedule.margin + .seconds(1) : .zero, failures)
                if next.text != token.text {
                    try file.write(next.text)
                    (token, schedule) = (next, self.schedule(of: next))
                } else if !file.isInPlace {
                    try file.write(next.text)
                }
                if failures > 0 { console.line("The token in \(file.path.printable) is fresh again.") }
                failures = 0
            } catch {
                try Task.checkCancellation()
                if endsOnLastingErrors, Self.lasts(error) { throw error }
                // Before a renewal is due, a locked agent or a missing network is no trouble yet.
                guard isDue || !file.isInPlace || failures > 0 else { continue }
                if failures == 0 { report(error, token) }
                failures += 1
            }
        }
    }

    /// Returns the token to have in the file now.
    ///
    /// - Throws: `NotRenewed` if it is the same although another was due.
    private func next(
        after token: HandedToken,
        _ validity: Duration,
        _ failures: Int
    ) async throws -> HandedToken {
        var renewal = wanted
        (renewal.minimumValidity, renewal.forcesRefresh) = (validity, false)
        renewal.account = token.account.map { Given(text: $0, origin: "--account") } ?? wanted.account
        let next = try await source.token(renewal).checked()
        guard validity > .zero, next.text == token.text else { return next }
        // The provider failed, and the old token is still alive. Only a forced renewal tells the reason; once is enough.
        guard failures == 0 else { throw NotRenewed(cause: nil) }
        renewal.forcesRefresh = true
        let forced: HandedToken
        do {
            forced = try await source.token(renewal).checked()
        } catch {
            throw NotRenewed(cause: error)
        }
        guard forced.text != token.text else { throw NotRenewed(cause: nil) }
        return forced
    }

    private func schedule(of token: HandedToken) -> RenewalSchedule {
        RenewalSchedule(left: token.left(at: clock.now), validity: validity, draw: draw(token.text))
    }

    private func report(_ error: any Error, _ token: HandedToken) {
        let left = token.left(at: clock.now).components.seconds
        let cause = if let error = error as? NotRenewed { error.cause } else { error as (any Error)? }
        let reason = cause.map(describe) ?? "The provider gave no new one."
        let life = left > 0 ? "is good for \(left) s more" : "has expired"
        console.line(
            "Warning: the token in \(file.path.printable) could not be renewed, and \(life). Trying on. \(reason)"
        )
    }

    /// Returns whether a person has to do something.
    private static func lasts(_ error: any Error) -> Bool {
        [.interactionRequired, .refused, .accountNotChosen, .usage].contains(ExitStatus(for: error))
    }

    /// No new token could be had while the old one is still alive, so that nothing ends yet.
    private struct NotRenewed: Error {
        let cause: (any Error)?
    }
}

extension TokenKeeper {
    /// Creates the keeper of the token that a command's options describe.
    init(
        _ file: TokenFile,
        _ wanted: WantedToken,
        _ source: any TokenSource,
        endsOnLastingErrors: Bool,
        in session: Session,
        describe: @escaping @Sendable (any Error) -> String
    ) {
        self.init(
            file: file,
            clock: SystemClock(),
            console: session.console,
            validity: wanted.minimumValidity > .zero ? wanted.minimumValidity : nil,
            draw: RenewalSchedule.draw(for:),
            endsOnLastingErrors: endsOnLastingErrors,
            wanted: wanted,
            source: source,
            describe: describe
        )
    }
}
