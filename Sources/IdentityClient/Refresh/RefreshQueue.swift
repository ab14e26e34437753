// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Lets one refresh of a credential run at a time in this process, and callers with the same key share it.
///
/// A caller joins a refresh of the same key. Who forces a refresh joins only one that has not begun. The work runs in a
/// task of its own: no caller's cancellation ends it.
///
/// A refresh that ends because the network is silent ends those that wait behind it, too: each of them would wait as
/// long, one after the other. Who asks afterwards tries anew.
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

    /// The flights of each credential; the first one is under way.
    private let queues = Mutex<[CacheKey: [Flight]]>([:])

    func run(
        _ key: Key,
        of credential: CacheKey,
        isForced: Bool,
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await enqueue(key, of: credential, isForced: isForced, work).result.value()
    }

    /// Begins the work, and lets nobody wait for it.
    ///
    /// - Parameter failed: Is told how it failed, also where it never came to run. Where it joins one that is there, it is never called.
    func start(
        _ key: Key,
        of credential: CacheKey,
        _ work: @escaping @Sendable () async throws -> Value,
        failed: @escaping @Sendable (any Error) -> Void = { _ in }
    ) {
        _ = enqueue(key, of: credential, isForced: false, work, failed: failed)
    }

    /// Waits until everything that is under way or queued now has ended.
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
            // Who waits for one of them finds it noted that all have failed.
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
