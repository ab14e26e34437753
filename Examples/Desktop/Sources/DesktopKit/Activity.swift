// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Work that a window does, one thing at a time, and shows when it takes long.
///
/// A new piece of work cancels the one before it, whose outcome is not shown any more.
@MainContext
public final class Activity {
    /// How long work may take before it is shown.
    public static let patience = Duration.milliseconds(300)

    private let show: @MainContext (Bool) -> Void
    private var task: Task<Void, Never>?
    private var number = 0

    /// - Parameter show: Is told when work has taken 300 ms, and when it has ended.
    public init(_ show: @escaping @MainContext (Bool) -> Void = { _ in }) {
        self.show = show
    }

    isolated deinit {
        task?.cancel()
    }

    /// Whether something is under way.
    public var isRunning: Bool { task != nil }

    /// Cancels what is under way and begins something else.
    ///
    /// - Parameters:
    ///   - work: The work, away from the window.
    ///   - finish: Is told the outcome, unless other work has begun or ``cancel()`` was called meanwhile.
    public func start<Value: Sendable>(
        _ work: @escaping @Sendable @MainContext () async throws -> Value,
        then finish: @escaping @MainContext (Result<Value, any Error>) -> Void
    ) {
        cancel()
        number += 1
        let mine = number
        let clock = Task { @MainContext [weak self] in
            // Ends early only when the work has ended, and then it is not shown.
            guard (try? await Task.sleep(for: Self.patience)) != nil, let self, number == mine, isRunning else {
                return
            }
            show(true)
        }
        task = Task { @MainContext [weak self] in
            let outcome: Result<Value, any Error>
            do { outcome = .success(try await work()) } catch { outcome = .failure(error) }
            clock.cancel()
            guard let self, number == mine, isRunning else { return }
            task = nil
            show(false)
            finish(outcome)
        }
    }

    /// Cancels what is under way; its outcome is not told.
    public func cancel() {
        guard let task else { return }
        task.cancel()
        self.task = nil
        show(false)
    }
}
