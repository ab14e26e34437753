// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Runs one refresh of a credential at a time in this process. Callers with the same key share a refresh.
///
/// A caller joins a refresh with the same key. A caller that forces a refresh joins only a refresh that has not begun.
/// Each refresh runs in a task of its own, so that no caller's cancellation ends it.
///
/// If a refresh fails because the network does not answer, the refreshes queued behind it fail as well, because each
/// would wait as long in turn. A later call tries again.
final class RefreshQueue<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private final class Flight: Sendable {
        let key: Key
        let isForced: Bool
        let result = Promise<Value>()
        let work: @Sendable () async throws -> Value
        let failed: @Sendable (any Error) -> Void

        init(
            key: Key,
            isForced: Bool,
            work: @escaping @Sendable () async throws -> Value,
            failed: @escaping @Sendable (any Error) -> Void
        ) {
            self.key = key
            self.isForced = isForced
            self.work = work
            self.failed = failed
        }
    }

    /// The flights of each credential. The first one is running.
    private let queues = Mutex<[CacheKey: [Flight]]>([:])

    func run(
        _ key: Key,
        of credential: CacheKey,
        isForced: Bool,
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await enqueue(key, of: credential, isForced: isForced, work).result.value()
    }

    /// Begins the work without waiting for it.
    ///
    /// - Parameter failed: Called with the error if the work fails or never runs. It is not called if the work joins a
    ///   flight that is already there.
    func start(
        _ key: Key,
        of credential: CacheKey,
        _ work: @escaping @Sendable () async throws -> Value,
        failed: @escaping @Sendable (any Error) -> Void = { _ in }
    ) {
        _ = enqueue(key, of: credential, isForced: false, work, failed: failed)
    }

    /// Waits until everything that is running or queued now has ended.
    func finish() async throws {
        let pending = queues.withLock { $0.values.flatMap(\.self) }
        for flight in pending {
            do { _ = try await flight.result.value() } catch is CancellationError {
                try Task.checkCancellation()
            } catch {}  // who asked for it was told
        }
    }

    private func enqueue(
        _ key: Key,
        of credential: CacheKey,
        isForced: Bool,
        _ work: @escaping @Sendable () async throws -> Value,
        failed: @escaping @Sendable (any Error) -> Void = { _ in }
    ) -> Flight {
        let (flight, begins) = queues.withLock { queues in
            let queue = queues[credential] ?? []
            let joinable = isForced ? queue.dropFirst().filter(\.isForced) : queue
            if let flight = joinable.first(where: { $0.key == key }) { return (flight, false) }
            let flight = Flight(key: key, isForced: isForced, work: work, failed: failed)
            queues[credential] = queue + [flight]
            return (flight, queue.isEmpty)
        }
        if begins { begin(flight, of: credential) }
        return flight
    }

    private func begin(_ flight: Flight, of credential: CacheKey) {
        Task {
            let outcome: Result<Value, any Error>
            do { outcome = .success(try await flight.work()) } catch { outcome = .failure(error) }
            let (ended, next) = queues.withLock { queues in
                let queue = queues[credential] ?? []
                let ended = queue.prefix(Self.tellsOfSilence(outcome) ? queue.count : 1)
                let rest = Array(queue.dropFirst(ended.count))
                queues[credential] = rest.isEmpty ? nil : rest
                return (ended, rest.first)
            }
            // The failure of each flight is recorded before its callers resume.
            if case .failure(let error) = outcome { for flight in ended { flight.failed(error) } }
            for flight in ended { flight.result.finish(outcome) }
            if let next { begin(next, of: credential) }
        }
    }

    private static func tellsOfSilence(_ outcome: Result<Value, any Error>) -> Bool {
        guard case .failure(let error) = outcome else { return false }
        return AuthenticationError.Code.network ~= error
    }
}
