// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import GLibSupport
import IdentityClient
import IdentityTelemetry
import Synchronization
import SystemSupport

/// Provides the link to the keyring, and opens a new link when the old one has ended.
final class KeyringConnector: Sendable {
    private struct Attempt {
        let result: Promise<KeyringLink>
        let startsKeyring: Bool
        /// Whether it takes longer than a read may.
        var isOverdue = false
    }

    private struct State {
        var link: KeyringLink?
        var attempt: Attempt?
    }

    let settings: KeyringSettings
    private let changed: @Sendable (BusConnection.Signal?) -> Void
    private let state = Mutex(State())
    /// Limits the calls at a time, because a bus allows a connection 128 pending answers.
    private let callLimit = AsyncSemaphore(width: 32)

    init(_ settings: KeyringSettings, changed: @escaping @Sendable (BusConnection.Signal?) -> Void) {
        self.settings = settings
        self.changed = changed
    }

    /// Whether there is a link that receives the keyring's signals. Otherwise memory may be out of date.
    var isListening: Bool {
        state.withLock { $0.link?.isUsable ?? false }
    }

    /// Returns the link. All callers wait for the same attempt to open it.
    ///
    /// - Parameter startsKeyring: Whether the bus may start a keyring if none runs, as it does for every program that
    ///   reads or writes. A program that only listens passes `false`.
    /// - Throws: `.keyringTimedOut` at once if the keyring leaves earlier calls unanswered; the errors of opening a
    ///   link; `CancellationError`.
    func link(startsKeyring: Bool = true) async throws -> KeyringLink {
        let (ready, waiting, isNew) = state.withLock { state -> (KeyringLink?, Attempt?, Bool) in
            if let link = state.link, link.isUsable { return (link, nil, false) }
            state.link = nil
            if let attempt = state.attempt { return (nil, attempt, false) }
            let attempt = Attempt(result: Promise(), startsKeyring: startsKeyring)
            state.attempt = attempt
            return (nil, attempt, true)
        }
        if let ready {
            if ready.isUnresponsive { throw AuthenticationError.keyring(.keyringTimedOut) }
            return ready
        }
        guard let waiting else { throw AuthenticationError.keyring(.cache) }
        if isNew {
            Task { await self.open(waiting) }
            Task { await self.watch(waiting) }
        } else if waiting.isOverdue {
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

    private func watch(_ attempt: Attempt) async {
        do {
            _ = try await withDeadline(settings.readTimeout) { try await attempt.result.value() }
        } catch is DeadlineExceeded {
            state.withLock { if $0.attempt?.result === attempt.result { $0.attempt?.isOverdue = true } }
        } catch {}  // told to those who wait
    }

    /// Does `work` with the link, and repeats it with a new link if the old one had ended.
    func withLink<Value: Sendable>(_ work: (KeyringLink) async throws -> Value) async throws -> Value {
        try await settings.telemetry.observe(.keyring, completion: Self.completion) { try await repeating(work) }
    }

    private static func completion<Value>(_ outcome: Result<Value, any Error>) -> Completion {
        Completion.of(outcome.mapError { AuthenticationError.fromKeyring($0) as any Error })
    }

    private func repeating<Value: Sendable>(_ work: (KeyringLink) async throws -> Value) async throws -> Value {
        try await callLimit.wait()
        defer { callLimit.signal() }
        var (hasRetired, unreadableSessions) = (false, 0)
        while true {
            var current: KeyringLink?
            do {
                // After a failure the keyring may be restarting. If the bus started another keyring then, that would take its name.
                let link = try await link(startsKeyring: !hasRetired)
                current = link
                return try await work(link)
            } catch let failure as GLibFailure {
                switch KeyringProblem(failure) {
                case .timedOut:
                    current?.noteMissingAnswer()
                    throw failure
                case .stale, .noService:
                    guard !hasRetired else { throw failure }
                    hasRetired = true
                    current?.retire()
                case .undecodable:
                    unreadableSessions += 1
                    guard let current, unreadableSessions < current.sessionsToTry else { throw failure }
                default: throw failure
                }
            }
        }
    }

    /// Waits until a keyring runs. Asks the keyring nothing, and starts none.
    ///
    /// - Throws: A failure if the bus cannot be reached or ends; `CancellationError`.
    func waitForKeyring() async throws {
        let bus = try await withDeadline(settings.readTimeout) { try await self.settings.connect() }
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

    /// Does `work` within `timeout`, and translates its failures into a cache's errors. An ``Obstacle`` stays as it is.
    func bounded<Value: Sendable>(
        by timeout: Duration,
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        do {
            return try await withDeadline(timeout, work)
        } catch let error as DeadlineExceeded {
            state.withLock { $0.link }?.noteMissingAnswer()
            throw AuthenticationError.fromKeyring(error)
        } catch {
            throw AuthenticationError.fromKeyring(error)
        }
    }
}
