// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Queues that each run one piece of work at a time. Callers with the same key share a piece of work.
///
/// A forced call joins only work that has not begun. The work runs in a task of its own, so that no caller's
/// cancellation ends it.
package final class SharedWorkQueue<Queue: Hashable & Sendable, Key: Equatable & Sendable, Value: Sendable>: Sendable {
    private struct Flight: Sendable {
        let key: Key
        let isForced: Bool
        let work: @Sendable () async throws -> Value
        let failed: @Sendable (any Error) -> Void
        let result = Promise<Value>()
    }

    /// The flights of each queue. The first one is running.
    private let queues = Mutex<[Queue: [Flight]]>([:])
    private let endsQueue: @Sendable (any Error) -> Bool

    /// - Parameter endsQueue: Returns whether the work that is queued behind a failure fails with the same error,
    ///   because it would fail in the same way. A later call tries again.
    package init(endsQueue: @escaping @Sendable (any Error) -> Bool) {
        self.endsQueue = endsQueue
    }

    package func run(
        _ key: Key,
        of queue: Queue,
        isForced: Bool,
        joined: () -> Void = {},
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let flight = Flight(key: key, isForced: isForced, work: work, failed: { _ in })
        let result = enqueue(flight, in: queue)
        if result !== flight.result { joined() }
        return try await result.value()
    }

    /// Begins the work without waiting for it.
    ///
    /// - Parameter failed: Called with the error if the work fails or never runs. It is not called if the work joins a
    ///   flight that is already there.
    package func start(
        _ key: Key,
        of queue: Queue,
        _ work: @escaping @Sendable () async throws -> Value,
        failed: @escaping @Sendable (any Error) -> Void = { _ in }
    ) {
        _ = enqueue(Flight(key: key, isForced: false, work: work, failed: failed), in: queue)
    }

    package var isEmpty: Bool { queues.withLock(\.isEmpty) }

    /// Waits until everything that is running or queued now has ended.
    package func finish() async throws {
        let pending = queues.withLock { $0.values.flatMap(\.self) }
        for flight in pending {
            do { _ = try await flight.result.value() } catch is CancellationError {
                try Task.checkCancellation()
            } catch {}  // the callers of the work were told
        }
    }

    /// - Returns: The result of the flight, or of an earlier one that the caller joins.
    private func enqueue(_ flight: Flight, in queue: Queue) -> Promise<Value> {
        let (result, begins) = queues.withLock { queues in
            let flights = queues[queue] ?? []
            let joinable = flight.isForced ? flights.dropFirst().filter(\.isForced) : flights
            if let known = joinable.first(where: { $0.key == flight.key }) { return (known.result, false) }
            queues[queue] = flights + [flight]
            return (flight.result, flights.isEmpty)
        }
        if begins { begin(flight, in: queue) }
        return result
    }

    private func begin(_ flight: Flight, in queue: Queue) {
        Task {
            let outcome: Result<Value, any Error>
            var error: (any Error)?
            do { outcome = .success(try await flight.work()) } catch let thrown {
                outcome = .failure(thrown)
                error = thrown
            }
            let endsAll = error.map(endsQueue) ?? false
            let (ended, next) = queues.withLock { queues in
                let flights = queues[queue] ?? []
                let ended = flights.prefix(endsAll ? flights.count : 1)
                let rest = Array(flights.dropFirst(ended.count))
                queues[queue] = rest.isEmpty ? nil : rest
                return (ended, rest.first)
            }
            // The failure of each flight is recorded before its callers resume.
            if let error { for flight in ended { flight.failed(error) } }
            for flight in ended { flight.result.finish(outcome) }
            if let next { begin(next, in: queue) }
        }
    }
}

/// Runs one piece of work per key at a time; later callers wait for its outcome.
///
/// The work runs in a separate task: cancelling any or all callers does not end it.
package final class SingleFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let flights = Mutex<[Key: Promise<Value>]>([:])

    package init() {}

    package func run(_ key: Key, _ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let (flight, isNew) = flights.withLock { flights in
            if let flight = flights[key] { return (flight, false) }
            let flight = Promise<Value>()
            flights[key] = flight
            return (flight, true)
        }
        if isNew {
            Task {
                let outcome: Result<Value, any Error>
                do { outcome = .success(try await work()) } catch { outcome = .failure(error) }
                flights.withLock { $0[key] = nil }
                flight.finish(outcome)
            }
        }
        return try await flight.value()
    }
}
