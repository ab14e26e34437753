// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Work that begins at once, whose outcome is wanted a little later, and which is cancelled at the end of the scope.
///
/// What `async let` is, which this library does without (Docs/decisions/0017): it can end the process.
struct ScopedTask<Value: Sendable>: ~Copyable {
    private let task: Task<Value, any Error>

    init(_ work: @escaping @Sendable () async throws -> Value) {
        task = Task { try await work() }
    }

    deinit {
        task.cancel()
    }

    /// The outcome. A caller that is cancelled cancels the work.
    func value() async throws -> Value {
        let task = task
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }
}
