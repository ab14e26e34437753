// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import IdentityClient
import Logging

/// A command that signs in, or works with accounts that are signed in.
protocol ToolCommand: AsyncParsableCommand, Sendable {
    var output: OutputOptions { get }

    /// The options that name a client and a provider, and so may come from a profile. `nil` by default.
    var clientOptions: ProviderOptions? { get }

    /// Returns whose token the command is about. By default that of ``clientOptions``; an agent has the profiles: those of this
    /// machine are then not read.
    func route(_ variables: Variables, _ lines: ProfileLines) throws -> TokenRoute

    /// Whether an agent gives the token if there is one. `false` by default.
    var asksAgent: Bool { get }

    /// Whether the command is about the sign-ins that are kept on this machine. `false` by default.
    var isAboutSignIns: Bool { get }

    /// Whether the command only works with accounts that are signed in. Before a store is chosen there are none. `false`
    /// by default.
    var readsSignIns: Bool { get }

    /// The options that the command shares with a sign-in. Empty by default.
    var sharedOptions: SharedOptions { get }

    /// Whether everything is logged, regardless of `--log-level`. `false` by default.
    var isVerbose: Bool { get }

    /// The capture of the exchange that the options ask for. `nil` by default.
    func recording() throws -> Recording?

    /// Whether tokens that could not be stored have an exit status of their own. `true` by default; `false` for a helper, whose
    /// caller would throw a good token away.
    var tellsLossByStatus: Bool { get }

    /// Does the command's work if that neither waits nor changes anything, so that a signal may end it anywhere. Returns whether
    /// it did; otherwise ``run(in:)`` is called. `false` by default.
    func answersAtOnce(in session: Session) async throws -> Bool

    /// Does the command's work. It ends soon after its task is cancelled.
    func run(in session: Session) async throws

    /// Returns advice on an error if the command knows more than the error's code says. `nil` by default.
    func advice(on error: any Error, in session: Session) -> String?
}

extension ToolCommand {
    var sharedOptions: SharedOptions { SharedOptions() }

    var clientOptions: ProviderOptions? { nil }

    var asksAgent: Bool { false }

    var isAboutSignIns: Bool { false }

    var readsSignIns: Bool { false }

    func route(_ variables: Variables, _ lines: ProfileLines) throws -> TokenRoute {
        guard let clientOptions, !asksAgent || variables.agent == nil else { return TokenRoute(variables: variables) }
        return try TokenRoute(clientOptions, variables, lines)
    }

    var isVerbose: Bool { false }

    var tellsLossByStatus: Bool { true }

    func recording() throws -> Recording? { nil }

    func answersAtOnce(in session: Session) async throws -> Bool { false }

    func advice(on error: any Error, in session: Session) -> String? { nil }

    /// Returns what went wrong and what to do about it, in a line, for a command that goes on.
    func sentence(on error: any Error, in session: Session) -> String {
        let advice = advice(on: error, in: session) ?? PlainReport.advice(error, sharedOptions)
        return ([PlainReport.sentence(error)] + (advice.map { [$0] } ?? [])).joined(separator: " ")
    }
}

extension ToolCommand {
    func run() async throws {
        throw ExitCode(await status(Variables.process, .standardError()).rawValue)
    }

    /// Runs the command to its end, handles signals, and reports an error.
    private func status(_ variables: Variables, _ console: Console) async -> ExitStatus {
        let session: Session
        do {
            let route = try route(variables, .onDisk(variables))
            let level = try output.level(route.variables)
            session = Session(
                route,
                console: console,
                isJSON: try route.variables.isOn("json", output.json),
                logLevel: isVerbose ? .trace : level,
                recording: try recording()
            )
            try session.recording?.begin()
        } catch {
            let isJSON = variables.isJSON(output.json)
            let route = TokenRoute(variables: variables)
            Session(route, console: console, isJSON: isJSON, logLevel: .critical).report(error)
            return ExitStatus(for: error)
        }
        do {
            if try await answersAtOnce(in: session) { return .done }
        } catch {
            return await end(session, .failure(error), endsByBrokenPipe: !Signals.isIgnored(SIGPIPE))
        }
        // Nothing else begins before its end by a signal is provided for.
        let (watching, watch) = AsyncStream<Never>.makeStream()
        let work = Task {
            for await _ in watching {}
            if isAboutSignIns { try await AgentClient.refuseSignInsElsewhere(variables) }
            try await run(in: session)
        }
        let signals = Signals(grace: 7) {
            watch.finish()
        } onFirst: {
            work.cancel()
        } isWriting: {
            session.loss != nil
        } atEnd: {
            reportingLoss(in: session, else: .cancelled).rawValue
        }
        let outcome = await work.result
        await session.passPhrases.end()
        await session.finishPendingWork()
        signals.stop()
        console.clearProgress()
        return reportingLoss(in: session, else: await end(session, outcome, endsByBrokenPipe: signals.endsByBrokenPipe))
    }

    /// Reports an answer that is lost with the program. Returns the status that tells it, or `usual`.
    private func reportingLoss(in session: Session, else usual: ExitStatus) -> ExitStatus {
        guard let loss = session.loss else { return usual }
        session.report(loss)
        return tellsLossByStatus ? .notStored : usual
    }

    /// Reports the end of the work.
    private func end(
        _ session: Session,
        _ outcome: Result<Void, any Error>,
        endsByBrokenPipe: Bool
    ) async -> ExitStatus {
        switch outcome {
        case .success:
            await session.endRecording(.done, nil)
            return .done
        case .failure(let ended as Ended): return ended.status
        case .failure(let failure as SystemFailure)
        where failure.isBrokenPipe && endsByBrokenPipe && session.loss == nil:
            Signals.endByBrokenPipe()
        case .failure(let failure):
            let error = readsSignIns ? session.explained(failure) : failure
            let reason = readsSignIns ? await session.withoutStore(error) : error
            await session.endRecording(ExitStatus(for: reason), reason)
            session.noteClient(after: error)
            let advice =
                await session.adviceOnStore(error, sharedOptions) ?? session.adviceOnProvider(error)
                ?? session.adviceOnProxy(error, clientOptions?.proxy) ?? self.advice(on: error, in: session)
                ?? PlainReport.advice(error, sharedOptions)
            session.report(reason, advice: advice)
            return ExitStatus(for: reason)
        }
    }
}
