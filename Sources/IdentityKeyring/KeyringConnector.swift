// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import GLibSupport
import IdentityClient
import Synchronization

/// Gives out the link to the keyring, and makes a new one when the old one is gone.
final class KeyringConnector: Sendable {
    private struct Attempt {
        let result: Promise<KeyringLink>
        let start: ContinuousClock.Instant
        let startsKeyring: Bool
    }

    private struct State {
        var link: KeyringLink?
        var attempt: Attempt?
    }

    let settings: KeyringSettings
    private let changed: @Sendable (BusConnection.Signal?) -> Void
    private let state = Mutex(State())
    /// A bus lets a connection wait for 128 answers.
    private let gate = AsyncSemaphore(width: 32)

    init(_ settings: KeyringSettings, changed: @escaping @Sendable (BusConnection.Signal?) -> Void) {
        self.settings = settings
        self.changed = changed
    }

    /// The link, if there is one that hears the keyring's signals: only then can memory be believed.
    var isListening: Bool {
        state.withLock { $0.link?.isUsable ?? false }
    }

    /// The link. All who come while it is made wait for the same one.
    ///
    /// - Parameter startsKeyring: Whether the bus may start a keyring if none runs, as it does for every program that
    ///   reads or writes. A program that only listens passes `false`.
    /// - Throws: `.keyringTimedOut` at once while the keyring leaves earlier calls unanswered; the errors of opening a
    ///   link; `CancellationError`.
    func link(startsKeyring: Bool = true) async throws -> KeyringLink {
        let (ready, waiting, isNew) = state.withLock { state -> (KeyringLink?, Attempt?, Bool) in
            if let link = state.link, link.isUsable { return (link, nil, false) }
            state.link = nil
            if let attempt = state.attempt { return (nil, attempt, false) }
            let attempt = Attempt(result: Promise(), start: .now, startsKeyring: startsKeyring)
            state.attempt = attempt
            return (nil, attempt, true)
        }
        if let ready {
            if ready.isSilent { throw AuthenticationError.keyring(.keyringTimedOut) }
            return ready
        }
        guard let waiting else { throw AuthenticationError.keyring(.cache) }
        if isNew {
            Task { await self.open(waiting) }
        } else if waiting.start.duration(to: .now) > settings.readTimeout {
            throw AuthenticationError.keyring(.keyringTimedOut)
        }
        do {
            return try await waiting.result.value()
        } catch let failure as GLibFailure
            where startsKeyring && !waiting.startsKeyring && KeyringProblem(failure) == .noService
        {
            return try await link()
        }
    }

    private func open(_ attempt: Attempt) async {
        let outcome: Result<KeyringLink, any Error>
        do {
            outcome = .success(
                try await KeyringLink.open(settings, startsKeyring: attempt.startsKeyring, changed: changed)
            )
        } catch {
            outcome = .failure(error)
        }
        state.withLock { state in
            state.attempt = nil
            if case .success(let link) = outcome { state.link = link }
        }
        attempt.result.finish(outcome)
    }

    /// Does `work` with the link, and once more with a new one if it turns out that the old one was dead.
    func withLink<Value: Sendable>(_ work: (KeyringLink) async throws -> Value) async throws -> Value {
        try await gate.wait()
        defer { gate.signal() }
        let first = try await link()
        do {
            return try await work(first)
        } catch let failure as GLibFailure {
            switch KeyringProblem(failure) {
            case .timedOut:
                first.suspectSilence()
                throw failure
            case .stale, .noService: first.retire()
            default: throw failure
            }
        }
        // The keyring that went may be on its way back: another one that the bus started would take its name.
        return try await work(try await link(startsKeyring: false))
    }

    /// Waits until a keyring runs. Nothing is asked of it, and none is started.
    ///
    /// - Throws: A failure where the bus cannot be reached, or ends; `CancellationError`.
    func waitForKeyring() async throws {
        let bus = try await settings.connect()
        let arrival = Promise<Void>()
        bus.whenClosed { arrival.finish(.failure(AuthenticationError.keyring(.keyringNoSessionBus))) }
        bus.whenOwnerComes(KeyringLink.service) { arrival.finish(.success(())) }
        let answer = try await bus.call(
            "NameHasOwner",
            of: "org.freedesktop.DBus",
            at: "/org/freedesktop/DBus",
            in: "org.freedesktop.DBus",
            "('\(KeyringLink.service)',)",
            returning: "(b)",
            timeout: settings.readTimeout
        )
        if answer[0]?.bool != true { try await arrival.value() }
        withExtendedLifetime(bus) {}
    }

    /// Does `work` within `timeout`, and tells its failures as a cache does.
    func bounded<Value: Sendable>(
        by timeout: Duration,
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        do {
            return try await withDeadline(timeout, work)
        } catch let error as DeadlineExceeded {
            state.withLock { $0.link }?.suspectSilence()
            throw AuthenticationError.fromKeyring(error)
        } catch {
            throw AuthenticationError.fromKeyring(error)
        }
    }
}
