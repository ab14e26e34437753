// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A gate that admits one sign-in of an application object at a time.
final class InteractionGate: Sendable {
    private final class Session: Sendable {
        /// A number that grows with every sign-in.
        let number: Int
        let ended = Promise<Void>()
        let isSuperseded = Mutex(false)
        let cancel = Mutex<(@Sendable () -> Void)?>(nil)

        init(number: Int) { self.number = number }

        func supersede() {
            isSuperseded.withLock { $0 = true }
            cancel.withLock { $0 }?()
        }
    }

    private struct State {
        var current: Session?
        var count = 0
        /// The number of the newest sign-in that supersedes others. It counts even after that sign-in has ended.
        var newest = 0

        mutating func session(_ policy: InteractiveParameters.PendingPolicy) -> Session {
            count += 1
            if policy == .supersede { newest = count }
            return Session(number: count)
        }
    }

    private let state = Mutex(State())

    /// Runs `body` while no other sign-in runs.
    ///
    /// - Parameter silently: Runs first if another sign-in had to end before this one: its result may serve both. A value
    ///   ends this sign-in.
    /// - Throws: `.interactionInProgress` or `.interactionSuperseded` as the policies say; what `body` throws.
    func run<Value: Sendable>(
        _ policy: InteractiveParameters.PendingPolicy,
        afterAnother silently: (@Sendable () async throws -> Value?)? = nil,
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let session = state.withLock { $0.session(policy) }
        let hasWaited = try await enter(session, policy)
        defer {
            state.withLock { $0.current = nil }
            session.ended.finish(.success(()))
        }
        let task = Task {
            if hasWaited, let value = try await silently?() { return value }
            return try await body()
        }
        session.cancel.withLock { $0 = { task.cancel() } }
        if session.isSuperseded.withLock({ $0 }) { task.cancel() }
        do {
            return try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
        } catch is CancellationError where session.isSuperseded.withLock({ $0 }) {
            throw Self.superseded
        }
    }

    private static var superseded: AuthenticationError {
        AuthenticationError(.interactionSuperseded, "A newer sign-in took this one's place.")
    }

    /// - Returns: Whether another sign-in had to end first.
    private func enter(_ session: Session, _ policy: InteractiveParameters.PendingPolicy) async throws -> Bool {
        var hasWaited = false
        while true {
            let pending = try state.withLock { state in
                // Of two sign-ins that waited for a third, the newer may have started first.
                guard policy != .supersede || session.number == state.newest else { throw Self.superseded }
                if state.current == nil { state.current = session }
                return state.current
            }
            guard let pending, pending !== session else { return hasWaited }
            hasWaited = true
            switch policy {
            case .fail:
                throw AuthenticationError(
                    .interactionInProgress,
                    "Another sign-in of this application is under way: finish or cancel it first."
                )
            case .supersede where pending.number < session.number: pending.supersede()
            case .supersede, .wait: break
            }
            try await pending.ended.value()
        }
    }
}
