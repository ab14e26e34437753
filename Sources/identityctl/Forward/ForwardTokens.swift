// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import Logging
import Synchronization
import TokenForwarding

/// The tokens of a profile for its forwarder. The profile is read for each question, so that a change of the account or the
/// scope counts soon.
final class ForwardTokens: Sendable {
    private struct Loaded: Sendable {
        let version: String
        let session: Session
        let source: any TokenSource
        let wanted: WantedToken
    }

    /// The options of the command that signs in.
    let login: SharedOptions
    private let lines: ForwardLines
    private let variables: Variables
    private let console: Console
    private let level: Logger.Level
    /// The last one counts. The others may still have something to write.
    private let loaded = Mutex<[Loaded]>([])

    init(_ lines: ForwardLines, _ variables: Variables, _ console: Console, _ level: Logger.Level) {
        (self.lines, self.variables, self.console, self.level) = (lines, variables, console, level)
        login = SharedOptions().adding("--profile", lines.name.text)
    }

    /// Returns the token. A person is asked where a line `sign-in` allows it.
    ///
    /// - Parameter onNeed: Called before that.
    /// - Throws: As `TokenSource.token(_:)`; `UsageError` if the profile's lines about the forwarder were changed.
    func token(
        insteadOf refused: String?,
        onNeed: @escaping @Sendable (any Error) -> Void
    ) async throws -> ForwardDesk.Token {
        let current = try current()
        var wanted = current.wanted
        wanted.refusedToken = refused
        let session = current.session
        let token = try await session.token(
            wanted,
            from: current.source,
            under: session.environment,
            signingInBy: login,
            onNeed: { onNeed($0) }
        ).checked()
        if token.report == nil { _ = await session.storageFailure(of: token.result) }
        return ForwardDesk.Token(
            text: token.text,
            left: token.left(at: .now),
            isNew: token.result.source != .cache
        )
    }

    /// Writes what waits to be written.
    func finish() async {
        for session in loaded.withLock({ $0.map(\.session) }) { await session.finishPendingWork() }
    }

    private func current() throws -> Loaded {
        let profile = try ProfileDirectory(variables).profile(named: lines.name)
        guard try ForwardLines(profile) == lines else {
            throw UsageError(
                "The lines of the profile '\(lines.name)' about the forwarder were changed. End it, and start it anew: "
                    + "identityctl forward stop"
            )
        }
        return try loaded.withLock { loaded in
            if let last = loaded.last, last.version == profile.version { return last }
            let options = try ProviderOptions.ungiven
            let route = TokenRoute.forwarding(to: lines.served, profile, options, variables)
            let session = Session(route, console: console, isJSON: false, logLevel: level)
            let next = Loaded(
                version: profile.version,
                session: session,
                source: try session.source(options, route, for: "forward", asksPassPhrases: false),
                wanted: try WantedToken(
                    .ungiven,
                    .ungiven,
                    .ungiven,
                    route.variables,
                    minimumValidity: .seconds(60)
                )
            )
            loaded.append(next)
            return next
        }
    }
}

extension ForwardingProblem {
    /// An error of a source of tokens, in words that a program shows to its person.
    init(_ error: any Error, signingInBy login: SharedOptions) {
        let known = error as? AuthenticationError
        let code: Code =
            switch ExitStatus(for: error) {
            case .interactionRequired, .cancelled, .browserUnavailable: .signInNeeded
            case .accountNotChosen: .anotherAccount
            case .unavailable: known?.family == .serverUnavailable ? .providerBusy : .offline
            case .cacheUnavailable: known?.code.rawValue == "cache.agent_locked" ? .agentLocked : .storeLocked
            default: .refusedByPolicy
            }
        let advice = AgentAdvice.text(of: error) ?? PlainReport.advice(error, login)
        let detail = [JSONReport.message(of: error).printable, advice].compactMap(\.self).joined(separator: " ")
        let pause = code == .providerBusy ? known?.retryAfter.map { Int($0.wholeSeconds) } : nil
        self.init(code, detail, retryAfter: pause)
    }
}
