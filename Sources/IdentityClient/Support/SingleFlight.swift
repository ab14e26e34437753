// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

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
