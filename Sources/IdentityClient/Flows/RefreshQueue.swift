// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Lets one refresh of a credential run at a time in this process, and callers with the same wish share it.
///
/// A caller joins a refresh of the same wish. Who forces a refresh joins only one that has not begun. The work runs in a
/// task of its own: no caller's cancellation ends it.
final class RefreshQueue<Wish: Hashable & Sendable, Value: Sendable>: Sendable {
    private final class Flight: Sendable {
        let wish: Wish
        let isForced: Bool
        let result = SharedResult<Value>()
        let work: @Sendable () async throws -> Value

        init(wish: Wish, isForced: Bool, work: @escaping @Sendable () async throws -> Value) {
            self.wish = wish
            self.isForced = isForced
            self.work = work
        }
    }

    /// The flights of each credential; the first one is under way.
    private let queues = Mutex<[CacheKey: [Flight]]>([:])

    func run(
        _ wish: Wish,
        of credential: CacheKey,
        isForced: Bool,
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await enqueue(wish, of: credential, isForced: isForced, work).result.value()
    }

    /// Begins the work, and lets nobody wait for it.
    func start(_ wish: Wish, of credential: CacheKey, _ work: @escaping @Sendable () async throws -> Value) {
        _ = enqueue(wish, of: credential, isForced: false, work)
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
        _ wish: Wish,
        of credential: CacheKey,
        isForced: Bool,
        _ work: @escaping @Sendable () async throws -> Value
    ) -> Flight {
        let (flight, begins) = queues.withLock { queues in
            let queue = queues[credential] ?? []
            let joinable = isForced ? queue.dropFirst().filter(\.isForced) : queue
            if let flight = joinable.first(where: { $0.wish == wish }) { return (flight, false) }
            let flight = Flight(wish: wish, isForced: isForced, work: work)
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
            let next = queues.withLock { queues in
                queues[credential]?.removeFirst()
                if queues[credential]?.isEmpty == true { queues[credential] = nil }
                return queues[credential]?.first
            }
            flight.result.finish(outcome)
            if let next { begin(next, of: credential) }
        }
    }
}
