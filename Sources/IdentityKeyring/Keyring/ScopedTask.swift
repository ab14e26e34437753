// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Work that begins at once, and is cancelled at the end of the scope. The caller reads its outcome later.
///
/// A substitute for `async let`, which this library does not use because it can end the process (Docs/decisions/0017).
struct ScopedTask<Value: Sendable>: ~Copyable {
    private let task: Task<Value, any Error>

    init(_ work: @escaping @Sendable () async throws -> Value) {
        task = Task { try await work() }
    }

    deinit {
        task.cancel()
    }

    /// Waits for the outcome. A cancelled caller cancels the work.
    func value() async throws -> Value {
        let task = task
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }
}
