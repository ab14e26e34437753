// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization

/// Runs blocking calls on its own queues, so that the cooperative pool never waits for a disk.
///
/// The queues are serial, because serial queues have their own threads. A concurrent queue shares the threads of the
/// cooperative pool: one hanging call for each processor would stop every task of the program.
@usableFromInline
package final class QueueExecutor: Sendable {
    private let queues: [DispatchQueue]
    /// The number of pieces of work on each queue, running or waiting.
    private let loads: Mutex<[Int]>

    /// Creates the queues; their threads start when there is work.
    /// - Parameter width: The number of pieces of work that may run at the same time. With 1, the default, they run in
    ///   order.
    package init(_ label: String, width: Int = 1) {
        queues = (0..<width).map { DispatchQueue(label: width == 1 ? label : "\(label)-\($0)") }
        loads = Mutex(Array(repeating: 0, count: width))
    }

    /// Runs `work` on a queue and waits for it. Cancellation does not interrupt running `work`.
    @inlinable
    package func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            enqueue { continuation.resume(with: Result(catching: work)) }
        }
    }

    /// The same for work that a caller may abandon, such as a read: a cancelled caller stops waiting, and the result is
    /// dropped.
    ///
    /// - Throws: The error of `work`, or `CancellationError`.
    @inlinable
    package func runUnlessCancelled<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws
        -> Value
    {
        let result = Promise<Value>()
        enqueue { result.finish(Result(catching: work)) }
        return try await result.value()
    }

    /// Runs `work` on a queue without waiting for it.
    package func start(_ work: @escaping @Sendable () -> Void) {
        enqueue(work)
    }

    /// Uses the queue with the least work, so that a queue with a hanging call is avoided.
    @usableFromInline
    func enqueue(_ work: @escaping @Sendable () -> Void) {
        let index = loads.withLock { loads in
            let index = loads.indices.min { loads[$0] < loads[$1] } ?? 0
            loads[index] += 1
            return index
        }
        queues[index].async { [self] in
            work()
            loads.withLock { $0[index] -= 1 }
        }
    }
}
