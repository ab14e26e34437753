// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Dispatch

/// Runs calls that may block on a queue of its own, so that the cooperative pool never waits for a disk.
struct QueueExecutor: Sendable {
    private let queue: DispatchQueue

    /// Creates the queue; its threads are made when there is work.
    /// - Parameter runsTogether: Whether pieces of work may run at the same time. If not, they run in order.
    init(_ label: String, runsTogether: Bool = false) {
        queue = DispatchQueue(label: label, attributes: runsTogether ? .concurrent : [])
    }

    /// Runs `work` on the queue and waits for it. What has begun is finished: cancellation does not reach into `work`.
    func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result(catching: work)) }
        }
    }
}
