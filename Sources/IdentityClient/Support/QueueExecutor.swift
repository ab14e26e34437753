// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization

/// Runs calls that may block on queues of its own, so that the cooperative pool never waits for a disk.
///
/// The queues are serial, because those have threads of their own. A concurrent queue shares the threads of the cooperative
/// pool: as many calls that hang as the computer has processors would stop every task of the program.
final class QueueExecutor: Sendable {
    private let queues: [DispatchQueue]
    /// How many pieces of work each queue has, running or waiting.
    private let loads: Mutex<[Int]>

    /// Creates the queues; their threads are made when there is work.
    /// - Parameter width: How many pieces of work may run at the same time. With 1, the default, they run in order.
    init(_ label: String, width: Int = 1) {
        queues = (0..<width).map { DispatchQueue(label: width == 1 ? label : "\(label)-\($0)") }
        loads = Mutex(Array(repeating: 0, count: width))
    }

    /// Runs `work` on a queue and waits for it. What has begun is finished: cancellation does not reach into `work`.
    func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            enqueue { continuation.resume(with: Result(catching: work)) }
        }
    }

    /// The same for what need not be waited for, such as a read: a caller that is cancelled waits no longer, and what `work`
    /// gives is dropped.
    ///
    /// - Throws: What `work` throws, or `CancellationError`.
    func runUnlessCancelled<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        let result = Promise<Value>()
        enqueue { result.finish(Result(catching: work)) }
        return try await result.value()
    }

    /// On the queue that has least to do: one on which a call hangs is passed over while there are others.
    private func enqueue(_ work: @escaping @Sendable () -> Void) {
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
