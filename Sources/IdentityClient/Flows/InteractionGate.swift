// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Lets one sign-in of an application object be under way at a time.
final class InteractionGate: Sendable {
    private final class Session: Sendable {
        let ended = SharedResult<Void>()
        let isSuperseded = Mutex(false)
        let cancel = Mutex<(@Sendable () -> Void)?>(nil)

        func supersede() {
            isSuperseded.withLock { $0 = true }
            cancel.withLock { $0 }?()
        }
    }

    private let current = Mutex<Session?>(nil)

    /// Runs `body` when no other sign-in is under way.
    ///
    /// - Throws: `.interactionInProgress` or `.interactionSuperseded` as the policies say; what `body` throws.
    func run<Value: Sendable>(
        _ policy: InteractiveParameters.PendingPolicy,
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let session = Session()
        try await enter(session, policy)
        defer {
            current.withLock { $0 = nil }
            session.ended.finish(.success(()))
        }
        let task = Task { try await body() }
        session.cancel.withLock { $0 = { task.cancel() } }
        if session.isSuperseded.withLock({ $0 }) { task.cancel() }
        do {
            return try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
        } catch is CancellationError where session.isSuperseded.withLock({ $0 }) {
            throw AuthenticationError(.interactionSuperseded, "A newer sign-in took this one's place.")
        }
    }

    private func enter(_ session: Session, _ policy: InteractiveParameters.PendingPolicy) async throws {
        while true {
            let pending = current.withLock { current in
                if current == nil { current = session }
                return current
            }
            guard let pending, pending !== session else { return }
            switch policy {
            case .fail:
                throw AuthenticationError(
                    .interactionInProgress,
                    "Another sign-in of this application is under way: finish or cancel it first."
                )
            case .supersede: pending.supersede()
            case .wait: break
            }
            try await pending.ended.value()
        }
    }
}
