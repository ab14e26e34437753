// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// An outcome that tasks wait for; a waiter that is cancelled stops waiting at once.
final class Promise<Value: Sendable>: Sendable {
    private struct State {
        var outcome: Result<Value, any Error>?
        var waiters: [Int: CheckedContinuation<Value, any Error>] = [:]
        var cancelled: Set<Int> = []
        var count = 0
    }

    private let state = Mutex(State())

    /// The first outcome counts.
    func finish(_ outcome: Result<Value, any Error>) {
        let waiters = state.withLock { state in
            guard state.outcome == nil else { return [CheckedContinuation<Value, any Error>]() }
            state.outcome = outcome
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume(with: outcome) }
    }

    func value() async throws -> Value {
        let id = state.withLock { state in
            state.count += 1
            return state.count
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome: Result<Value, any Error>? = state.withLock { state in
                    if state.cancelled.remove(id) != nil { return .failure(CancellationError()) }
                    if state.outcome == nil { state.waiters[id] = continuation }
                    return state.outcome
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                let waiter = state.waiters.removeValue(forKey: id)
                if waiter == nil, state.outcome == nil { state.cancelled.insert(id) }
                return waiter
            }
            waiter?.resume(throwing: CancellationError())
        }
    }

    /// The outcome, or ``WaitTimedOut`` when there is none after `timeout` of real time.
    func value(within timeout: Duration, for what: String) async throws -> Value {
        let timer = Task {
            try await Task.sleep(for: timeout)
            finish(.failure(WaitTimedOut(what: what)))
        }
        defer { timer.cancel() }
        return try await value()
    }
}

extension Promise where Value == Void {
    func fulfil() { finish(.success(())) }
}

/// What a test waited for did not happen in time.
public struct WaitTimedOut: Error, CustomStringConvertible, Sendable {
    let what: String

    /// What was waited for.
    public var description: String { "\(what) did not happen in time." }
}
